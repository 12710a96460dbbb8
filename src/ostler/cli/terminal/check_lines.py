"""The lines of `ostler doctor` and `ostler cluster doctor`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ostler.cli.terminal.text import paint, terminal_width, to_one_line, truncate, use_colour
from ostler.project.inspection.check import Check

AGENT_PREFIX = "agent "
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


def format_checks(checks: Sequence[Check], columns: int = 0) -> list[str]:
    """Return the lines of the checks; `columns` is the width of the names."""
    columns = columns or name_columns(checks)
    return [line for check in checks for line in _format_check(check, columns)]


def name_columns(checks: Sequence[Check]) -> int:
    return max(len(_short_name(check)) for check in checks)


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
    return check.name.removeprefix(AGENT_PREFIX)
