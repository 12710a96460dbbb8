"""Removes the containers of runs that are dead."""

from __future__ import annotations

from collections.abc import Mapping

from ostler.process.tool import ToolTimeout, run_tool
from ostler.sandbox.containers.arguments import (
    build_client_environment,
    build_list_arguments,
    build_remove_arguments,
)
from ostler.sandbox.owner import is_of_dead_run

_SECONDS = 30.0


def sweep_containers(program: str, environ: Mapping[str, str]) -> int:
    """Kill and remove the containers of dead runs; return their number."""
    found = _run(build_list_arguments(program), environ)
    names = [one for one in found.splitlines() if is_of_dead_run(one)]
    for name in names:
        _run(build_remove_arguments(program, name), environ)
    return len(names)


def _run(argv: list[str], environ: Mapping[str, str]) -> str:
    try:
        ended = run_tool(argv, env=build_client_environment(environ), cwd="/", timeout_seconds=_SECONDS)
    except (OSError, ToolTimeout):
        return ""
    return ended.stdout.decode("utf-8", "replace") if ended.status == 0 else ""
