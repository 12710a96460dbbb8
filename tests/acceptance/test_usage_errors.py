"""Errors of the command line: one sentence and the next command."""

from __future__ import annotations

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
