"""ostler doctor"""

from __future__ import annotations

import os
from pathlib import Path

import click
from msgspec import to_builtins

from ostler.cli.options import json_option
from ostler.cli.terminal.check_lines import AGENT_PREFIX, format_checks, name_columns
from ostler.cli.terminal.output import print_json, print_text
from ostler.project.inspection.check import Check
from ostler.project.inspection.doctor import run_checks


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
    agents = [check for check in checks if check.name.startswith(AGENT_PREFIX)]
    others = [check for check in checks if check not in agents]
    columns = name_columns(checks)
    usable = sum(check.ok for check in agents)
    title = (
        f"Agents: {usable} of {len(agents)} usable; one is enough."
        if usable
        else "Agents: none usable yet; install one."
    )
    return [*format_checks(others, columns), "", title, *format_checks(agents, columns)]
