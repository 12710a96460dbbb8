"""ostler doctor"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from msgspec import to_builtins

from ostler.cli.options import json_option
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import paint, terminal_width, to_one_line, truncate, use_colour
from ostler.project.inspection.check import Check
from ostler.project.inspection.doctor import run_checks

_AGENT_PREFIX = "agent "
_LABELS = {
    "not_found": "missing",
    "drift": "DRIFT",
    "timeout": "slow",
    "logged_out": "log in",
    "error": "error",
    "warning": "warning",
}
_PROBLEMS = ("error", "warning")  # lines with a file and a setting to correct, which are never truncated
_COLOURS = {"ok": "green", "missing": "dim"}


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Check this machine and this project, and show how to fix each problem.

    Exits with 1 when a required check fails.
    """
    checks = run_checks(Path.cwd(), os.environ)
    healthy = all(check.ok for check in checks if check.required)
    if as_json:
        print_json({"schema": "ostler.doctor/1", "ok": healthy, "checks": to_builtins(checks)})
    else:
        print_text("\n".join(_format_screen(checks)))
    return 0 if healthy else 1


def _format_screen(checks: list[Check]) -> list[str]:
    """Return the lines of the checks: machine and project first, then the agents."""
    agents = [check for check in checks if check.name.startswith(_AGENT_PREFIX)]
    others = [check for check in checks if check not in agents]
    columns = max(len(_short_name(check)) for check in checks)
    lines = [line for check in others for line in _format_check(check, columns)]
    usable = sum(check.ok for check in agents)
    title = (
        f"Agents: {usable} of {len(agents)} usable; one is enough."
        if usable
        else "Agents: none usable yet; install one."
    )
    return [*lines, "", title, *(line for check in agents for line in _format_check(check, columns))]


def _format_check(check: Check, columns: int) -> list[str]:
    """Return one line, or two for a check with both a detail and a fix."""
    label = "ok" if check.ok else _LABELS.get(check.state, "broken")
    shown_label = paint(f"{label:<8}", _COLOURS.get(label, "yellow"), use_colour(sys.stdout))
    indent = 8 + columns + 2
    detail = to_one_line(check.detail)
    if check.state not in _PROBLEMS:
        detail = truncate(detail, terminal_width() - indent)
    # A fix is a command to copy, so it is never truncated.
    fix = "" if check.ok else to_one_line(check.fix)
    first, *more = [text for text in ((fix,) if label == "missing" else (detail, fix)) if text]
    more += [to_one_line(line) for line in check.more]
    return [f"{shown_label}{_short_name(check):<{columns}}  {first}", *(" " * indent + line for line in more)]


def _short_name(check: Check) -> str:
    return check.name.removeprefix(_AGENT_PREFIX)
