"""Errors of the command line: one sentence and the next command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from world import World


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("agent",), "ostler: agent needs a command: list, resume, sessions, spawn\n"),
        (("testing",), "ostler: testing needs a command: fake-agent, serve-github, serve-model\n"),
        (("completion",), "ostler: missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish\n"),
    ],
)
def test_what_is_missing_is_one_line(world: World, arguments: tuple[str, ...], message: str) -> None:
    """Not the whole help as an error; the help is the next step."""
    help_line = f"        ostler {arguments[0]} --help\n"
    assert world.ostler(*arguments, code=2).stderr == message + help_line


@pytest.mark.parametrize("arguments", [("new", "Paint", "--model"), ("run", "--executor")])
def test_an_option_without_its_argument_names_the_command(world: World, arguments: tuple[str, ...]) -> None:
    """The next step is the help of that command."""
    assert f"ostler {arguments[0]} --help" in world.ostler(*arguments, code=2).stderr


def test_a_wrong_variable_is_not_fixed_in_a_file(world: World) -> None:
    """The next step is the variable."""
    printed = world.ostler("new", "Paint", OSTLER_RUN__JOBS="many", code=2).stderr
    assert "correct or unset the variable" in printed and "config edit" not in printed


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "nosuch.md"),
        ("pipeline", "run", "nosuch"),
        ("new", "Paint", "--executor", "cluade"),
        ("run", "-p", "Paint", "--executor", "cluade"),
    ],
)
def test_a_refused_command_creates_no_project(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A project that nobody wanted would contain every directory below it."""
    printed = World(tmp_path).ostler(*arguments, code=2).stderr
    assert printed.startswith("ostler: ") and "No such file" not in printed
    assert not (tmp_path / ".ostler").exists()


def test_a_session_is_not_a_task(world: World) -> None:
    """Every command for tasks names those for sessions."""
    spawned = world.ostler("agent", "spawn", "-p", "Hello", "--json").stdout.splitlines()
    session = json.loads(spawned[-1])["session_id"]
    for command in ("show", "cancel"):
        printed = world.ostler(command, session[:8], code=2).stderr
        assert "is a session, not a task" in printed and f"ostler log {session}" in printed
