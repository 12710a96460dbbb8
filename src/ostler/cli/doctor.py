"""ostler doctor"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from msgspec import to_builtins

from ostler.cli.out import emit, json_option, say
from ostler.cli.text import fit, one_line, paint, terminal_width, wants_colour
from ostler.project.doctor import Check, examine

_AGENT = "agent "
_WORDS = {"not_found": "missing", "drift": "DRIFT", "timeout": "silent", "logged_out": "log in"}
_COLOURS = {"ok": "green", "missing": "dim"}


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """What works on this machine and in this project, what is missing, and what mends it."""
    checks = examine(Path.cwd(), os.environ)
    healthy = all(check.ok for check in checks if check.required)
    if as_json:
        emit({"schema": "ostler.doctor/1", "ok": healthy, "checks": to_builtins(checks)})
    else:
        say("\n".join(_screen(checks)))
    return 0 if healthy else 1


def _screen(checks: list[Check]) -> list[str]:
    """The machine and the project first, then the agents, of which one is enough."""
    agents = [check for check in checks if check.name.startswith(_AGENT)]
    others = [check for check in checks if check not in agents]
    room = max(len(_name(check)) for check in checks)
    lines = [line for check in others for line in _lines(check, room)]
    here = sum(check.ok for check in agents)
    told = (
        f"Agents: {here} of {len(agents)} can be used; one is enough."
        if here
        else "Agents: none works here yet."
    )
    return [*lines, "", told, *(line for check in agents for line in _lines(check, room))]


def _lines(check: Check, room: int) -> list[str]:
    """One line; two where there is both something to say and something to do."""
    word = "ok" if check.ok else _WORDS.get(check.state, "broken")
    mark = paint(f"{word:<8}", _COLOURS.get(word, "yellow"), wants_colour(sys.stdout))
    indent = 8 + room + 2
    detail = fit(one_line(check.detail), terminal_width() - indent)
    fix = "" if check.ok else one_line(check.fix)  # never cut: it is there to be copied
    first, *more = [text for text in ((fix,) if word == "missing" else (detail, fix)) if text]
    return [f"{mark}{_name(check):<{room}}  {first}", *(" " * indent + line for line in more)]


def _name(check: Check) -> str:
    return check.name.removeprefix(_AGENT)
