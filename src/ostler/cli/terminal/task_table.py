"""The table of tasks, and the reason that it shows for each task."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from itertools import groupby

from ostler.cli.terminal.output import print_text
from ostler.cli.terminal.text import (
    STATUS_COLOURS,
    format_age,
    format_reason,
    format_table,
    format_timestamp,
    format_tokens,
    format_usd,
    paint,
    to_one_line,
    use_colour,
)
from ostler.clock import format_local_time
from ostler.errors import Code, WarningCode
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.views.lists.groups import TITLES, Section
from ostler.views.task import TaskView, section_of_view

USUAL = "P2"  # the priority of most tasks, which is not shown

HEADER = ("id", "status", "priority", "phase", "worker", "tokens", "cost", "updated", "title or reason")
OPTIONAL = ("phase", "worker", "tokens", "priority", "updated", "cost")


def print_table(views: list[TaskView], *, has_sections: bool = False) -> None:
    """Print the tasks; with the title of each section above its first task."""
    colours = [STATUS_COLOURS.get(view.status, "") for view in views]
    text = format_table(HEADER, [format_row(view) for view in views], colours, OPTIONAL)
    if not has_sections:
        print_text(text)
        return
    header, *lines = text.split("\n")
    print_text(header)
    rows = zip(views, lines, strict=True)
    for section, group in groupby(rows, key=_find_section):
        print_text(paint(f"── {TITLES[section]}", "bold", use_colour(sys.stdout)))
        print_text("\n".join(line for _, line in group))


def _find_section(row: tuple[TaskView, str]) -> Section:
    return section_of_view(row[0])


def format_row(view: TaskView) -> tuple[str, ...]:
    return (
        view.id,
        view.status,
        view.priority if view.priority != USUAL else "",
        f"{view.phase} {view.iteration}",
        (view.host or "") if view.status == TaskStatus.IN_PROGRESS else "",
        format_tokens(view.usage.total) if view.usage.total else "",
        format_usd(view.cost_usd),
        format_age(datetime.fromisoformat(view.updated_at).timestamp()),
        to_one_line(" ".join((*list_marks(view), describe_state(view)))),
    )


def list_marks(view: TaskView) -> list[str]:
    """Return the code of each warning in brackets; one without a code is a note, see `ostler show`."""
    return [f"[{one}]" if one in list(WarningCode) else "[note]" for one in view.warnings]


def describe_state(view: TaskView) -> str:
    """Return when the task resumes, and why it stopped, what it waits for, or its title with the result."""
    waiting = "" if view.code or view.message else describe_waiting(view)
    reason = waiting or describe_task(view)
    return f"resumes at {format_timestamp(view.resumes_at)}; {reason}" if view.resumes_at else reason


def describe_task(view: TaskView) -> str:
    """Return what a person needs to recognize the task and to decide: title, result, reason or question."""
    reason = format_reason(view.code, view.message)
    if view.status == TaskStatus.NEEDS_REVIEW:
        return _join(view.title, view.message)
    if view.status == TaskStatus.COMPLETED:
        merged = f"merged into {view.published_into}" if view.published_into else ""
        return _join(view.title, view.pr_url or view.output_path or merged or reason)
    if view.code is Code.AGENT_BLOCKED:  # the section is named Questions
        return view.message or view.title
    return reason or view.title


def _join(title: str, text: str) -> str:
    return f"{title}: {text}" if text else title


def describe_waiting(view: TaskView) -> str:
    """Return what a task waits for before it starts; empty when nothing."""
    if view.status not in EXECUTABLE:
        return ""
    now = time.time()
    at = datetime.fromisoformat(view.not_before).timestamp() if view.not_before else now
    if view.waits_for:
        return f"after {', '.join(view.waits_for)}"
    return f"not before {format_local_time(at, now)}" if at > now else ""
