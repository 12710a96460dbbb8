"""The table of tasks, and the reason that it shows for each task."""

from __future__ import annotations

import time
from datetime import datetime

from ostler.cli.terminal.output import print_text
from ostler.cli.terminal.text import (
    STATUS_COLOURS,
    format_age,
    format_reason,
    format_table,
    format_timestamp,
    format_tokens,
    format_usd,
    to_one_line,
)
from ostler.clock import format_local_time
from ostler.errors import WarningCode
from ostler.model.status import EXECUTABLE
from ostler.views.task import TaskView

HEADER = ("id", "status", "phase", "tokens", "cost", "updated", "title or reason")
OPTIONAL = ("phase", "tokens", "updated", "cost")


def print_table(views: list[TaskView]) -> None:
    colours = [STATUS_COLOURS.get(view.status, "") for view in views]
    print_text(format_table(HEADER, [format_row(view) for view in views], colours, OPTIONAL))


def format_row(view: TaskView) -> tuple[str, ...]:
    return (
        view.id,
        view.status,
        f"{view.phase} {view.iteration}",
        format_tokens(view.usage.total) if view.usage.total else "",
        format_usd(view.cost_usd),
        format_age(datetime.fromisoformat(view.updated_at).timestamp()),
        to_one_line(" ".join((*list_marks(view), describe_state(view)))),
    )


def list_marks(view: TaskView) -> list[str]:
    """Return the code of each warning in brackets; one without a code is a note, see `ostler show`."""
    return [f"[{one}]" if one in list(WarningCode) else "[note]" for one in view.warnings]


def describe_state(view: TaskView) -> str:
    """Return when the task resumes, and why it stopped, what it waits for, or its title."""
    reason = format_reason(view.code, view.message) or describe_waiting(view) or view.title
    return f"resumes at {format_timestamp(view.resumes_at)}; {reason}" if view.resumes_at else reason


def describe_waiting(view: TaskView) -> str:
    """Return what a task waits for before it starts; empty when nothing."""
    if view.status not in EXECUTABLE:
        return ""
    now = time.time()
    at = datetime.fromisoformat(view.not_before).timestamp() if view.not_before else now
    if view.waits_for:
        return f"after {', '.join(view.waits_for)}"
    return f"not before {format_local_time(at, now)}" if at > now else ""
