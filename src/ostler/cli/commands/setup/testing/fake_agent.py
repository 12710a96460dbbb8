"""ostler testing fake-agent"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ostler.cli.commands.setup.testing.names import list_option, print_names, require_known
from ostler.cli.commands.setup.testing.serving import print_environment
from ostler.cli.options import json_option
from ostler.cli.terminal.output import print_hint, print_json
from ostler.errors import UsageError
from ostler.files.user_cache import find_user_cache
from ostler.text import describe_os_error


@click.command("fake-agent")
@click.argument("name", required=False)
@click.option("--fault", metavar="NAME", default="", help="What it does wrong.")
@click.option(
    "--set",
    "values",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change its behaviour, such as text=Hello or delay_seconds=2.  Repeatable.",
)
@click.option("--directory", metavar="DIR", help="Where to write it.  [default: in your cache directory]")
@list_option
@json_option
def fake_agent(
    name: str | None, fault: str, values: tuple[str, ...], directory: str | None, listing: bool, as_json: bool
) -> None:
    """Write a program that behaves like an agent.

    It prints the wire format of that agent, edits files, keeps sessions, and has a fault on request. Use
    it in a shell: eval "$(ostler testing fake-agent claude)"
    """
    # The help does not need the kit.
    from ostler.testing.behaviour import list_keys, list_plan, parse_values  # noqa: PLC0415
    from ostler.testing.catalog import AGENTS, list_agent_faults, list_agents  # noqa: PLC0415
    from ostler.testing.fake_agent import fake_agent as write_fake  # noqa: PLC0415

    if listing:
        print_names({"agent": list_agents(), "fault": list_agent_faults(), "key": list_keys()}, as_json)
        return
    if not name:
        raise UsageError(
            "no agent is named", f"ostler testing fake-agent {AGENTS[1]}; --list prints all names"
        )
    require_known("agent", name, AGENTS)
    behaviour = parse_values(values)
    for one in filter(None, (fault, *list_plan(behaviour))):
        require_known("fault", one, list_agent_faults())
    path = write_fake(_find_directory(directory, fault), name, fault=fault, **behaviour)
    _forget_starts(path)
    _print_written(name, fault, path, as_json)


def _find_directory(directory: str | None, fault: str) -> Path:
    cache = find_user_cache(os.environ)
    if directory is None and cache is None:
        raise UsageError("there is no home directory", "pass --directory DIR")
    place = Path(directory).absolute() if directory else Path(str(cache), "ostler", "fakes", fault or "none")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write to {place}: {describe_os_error(error)}", "pass --directory DIR"
        ) from None
    return place


def _forget_starts(path: Path) -> None:
    """A program that is written again counts its starts from one."""
    for suffix in (".starts", ".window"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _print_written(name: str, fault: str, path: Path, as_json: bool) -> None:
    from ostler.executors.discover import path_variable  # noqa: PLC0415  (the help does not need it)

    # An agent of the protocol ACP has no name of its own, so it needs settings.
    variables = {} if name == "acp" else {path_variable(name): str(path)}
    if as_json:
        document = {"name": name, "fault": fault or None, "path": str(path), "environment": variables}
        print_json({"schema": "ostler.fake_agent/1", **document})
        return
    print_environment(variables)
    if not variables:
        print_hint(f'Add to ostler.toml: [executors.fake] with type = "acp" and command = "{path}"')
    elif sys.stdout.isatty():
        print_hint("Next: run this line in your shell, then ostler run -p TEXT")
