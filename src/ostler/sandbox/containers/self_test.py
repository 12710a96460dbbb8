"""Checks once per process that containers of an image confine a program, with the real launcher."""

from __future__ import annotations

import os
import platform
from functools import cache, partial

from ostler.model.command import Command
from ostler.process.tool import ToolResult, run_tool
from ostler.sandbox.box.box import Box
from ostler.sandbox.box.seccomp import find_architecture
from ostler.sandbox.box.self_test import run_self_test
from ostler.sandbox.containers.arguments import Engine
from ostler.sandbox.containers.launcher import ContainerLauncher
from ostler.sandbox.containers.sweep import sweep_containers

_SECONDS = 120.0  # a daemon can need long for the first container


@cache
def why_container_fails(engine: Engine, program: str, image: str) -> str:
    """Return why containers of this image cannot be used; empty if they work."""
    if not find_architecture():
        return f"there is no system call filter for {platform.machine()}"
    sweep_containers(program, os.environ)
    return run_self_test(partial(_run, engine, program, image))


def _run(engine: Engine, program: str, image: str, box: Box, arguments: tuple[str, ...]) -> ToolResult:
    launcher = ContainerLauncher(engine, program, image, box, os.environ)
    command = Command(("python3", *arguments), str(box.directory), {"HOME": str(box.home_path)})
    with launcher.launch(command) as started:
        return run_tool(list(started.argv), env=started.env, cwd="/", timeout_seconds=_SECONDS)
