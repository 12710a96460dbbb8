"""The summary at the end of a run: the result of each task and the next command."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from msgspec import to_builtins

from ostler.calls.models.availability import Unavailable
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.run.not_started import describe_not_started
from ostler.cli.terminal.task_table import describe_state, describe_waiting
from ostler.cli.terminal.text import (
    STATUS_COLOURS,
    paint,
    terminal_width,
    to_one_line,
    truncate,
    use_colour,
    wrap_hanging,
)
from ostler.clock import format_local_time
from ostler.errors import WarningCode
from ostler.model.ids import TaskId
from ostler.model.outcome import DiffStat, Outcome
from ostler.model.status import TaskStatus
from ostler.model.warning import list_warning_lines
from ostler.project.project import Project
from ostler.project.tasks.lists.outcomes import add_result
from ostler.views.lists.groups import group_of
from ostler.views.next_step import next_step
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json

_INDENT = 14  # below the id of the task
_MESSAGE_LINES = 3
_WARNING_LINES = 5  # of one warning


def print_run_summary(
    project: Project,
    outcomes: list[Outcome],
    as_json: bool,
    not_started: Mapping[TaskId, Unavailable | None] | None = None,
) -> None:
    """Print the result of each task, the ready tasks that were not started, and the next command."""
    views = [project.show(outcome.task_id) for outcome in outcomes]
    for line in describe_not_started(not_started or {}) if as_json else ():
        print_hint(line)
    if as_json:
        for view in views:
            print_json(_as_json(project, view))
        return
    if not views and not not_started:
        print_text(f"Nothing to run{_describe_waiting(project)}.  Next: ostler status")
    colour = use_colour(sys.stdout)
    columns = max((len(view.id) for view in views), default=0)
    for view in views:
        has_reason = view.code or view.message
        result = describe_state(view) if has_reason else describe_waiting(view) or _describe_result(view)
        status = paint(f"{view.status:<12}", STATUS_COLOURS.get(view.status, ""), colour)
        print_text(f"{status}  {view.id:<{columns}}  {to_one_line(result)}")
        for line in _list_details(project, view):
            print_text(wrap_hanging(" " * _INDENT + line, _INDENT + 2))
    for line in describe_not_started(not_started or {}):
        print_hint(line)
    for view in sorted(views, key=lambda view: view.status == TaskStatus.COMPLETED)[:1]:
        names = ("show", "diff", "log") if view.branch else ("show", "log")
        commands = [f"ostler {verb} {view.id}" for verb in names]
        narrow = len("   ".join(commands)) > terminal_width()
        shown = ("\n" if narrow else "   ").join(commands)
        step = "" if view.status == TaskStatus.COMPLETED else next_step(view)
        print_hint(f"\nNext: {step}" if step else f"\n{shown}")


def _as_json(project: Project, view: TaskView) -> dict[str, object]:
    """Return the task with the size of its change and the agent's last message."""
    details = _read_details(project, view)
    return task_json(view) | {"diffstat": to_builtins(details.diffstat), "summary": details.summary}


def _read_details(project: Project, view: TaskView) -> Outcome:
    return add_result(Outcome(TaskId(view.id), view.status), project.layout, project.journal)


def _list_details(project: Project, view: TaskView) -> list[str]:
    """Return the size of the change, the start of the agent's last message, and the warnings."""
    details = _read_details(project, view)
    size = [_describe_size(details.diffstat)] if details.diffstat else []
    message = [line for line in details.summary.splitlines() if line.strip()]
    shown = message[:_MESSAGE_LINES]
    more = ["..."] if len(message) > len(shown) else []
    warnings = [f"{_label(text)} {text}" for text in list_warning_lines(view, _WARNING_LINES)]
    room = terminal_width() - _INDENT
    return [truncate(to_one_line(line), room) for line in (*size, *shown, *more)] + [
        to_one_line(line) for line in warnings
    ]


def _label(text: str) -> str:
    """A note has no code: `merged on GitHub` is no problem."""
    return "warning" if text.partition(":")[0] in list(WarningCode) else "note"


def _describe_size(size: DiffStat) -> str:
    if not size.files:
        return "no file changed"
    files = "1 file" if size.files == 1 else f"{size.files} files"
    return f"{files} changed, +{size.insertions} -{size.deletions}"


def _describe_result(view: TaskView) -> str:
    """Return where the result of a task is."""
    return view.pr_url or view.output_path or view.branch or "in place"


def _describe_waiting(project: Project) -> str:
    """Return how many tasks wait for a person or are deferred."""
    rows = project.journal.open_rows()
    waiting = sum(group_of(row.status) == "needs_you" for row in rows)
    due = [row.resumes_at for row in rows if row.status == TaskStatus.DEFERRED and row.resumes_at]
    parts: list[str] = []
    if waiting:
        parts.append(f"{waiting} {'task waits' if waiting == 1 else 'tasks wait'} for you")
    if due:
        parts.append(f"{len(due)} deferred until {format_local_time(min(due), time.time())}")
    return f": {', '.join(parts)}" if parts else ""
