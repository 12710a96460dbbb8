"""ostler doctor"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from msgspec import to_builtins

from ostler.cli.out import emit, json_option, say
from ostler.cli.text import paint, printable, wants_colour
from ostler.project.doctor import Check, examine


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """What works on this machine and in this project, what is missing, and what mends it."""
    checks = examine(Path.cwd(), os.environ)
    healthy = all(check.ok for check in checks if check.required)
    if as_json:
        emit({"schema": "ostler.doctor/1", "ok": healthy, "checks": to_builtins(checks)})
    else:
        room = max(len(check.name) for check in checks)
        for check in checks:
            say(_line(check, room))
    return 0 if healthy else 1


def _line(check: Check, room: int) -> str:
    word, colour = ("ok", "green") if check.ok else ("missing" if not check.required else "broken", "yellow")
    fix = f"   {check.fix}" if check.fix and not check.ok else ""
    mark = paint(f"{word:<8}", colour, wants_colour(sys.stdout))
    return f"{mark}{check.name:<{room}}  {printable(check.detail + fix)}"
