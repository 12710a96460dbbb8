"""The summary at the end of a run: the result of each task and the next command."""

from __future__ import annotations

import sys
import time

from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.task_table import describe_state, describe_waiting
from ostler.cli.terminal.text import STATUS_COLOURS, paint, terminal_width, to_one_line, use_colour
from ostler.clock import format_local_time
from ostler.model.outcome import Outcome
from ostler.model.status import TaskStatus
from ostler.project.project import Project
from ostler.views.groups import group_of
from ostler.views.next_step import next_step
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json


def print_run_summary(project: Project, outcomes: list[Outcome], as_json: bool) -> None:
    """Print the result of each task and the next command."""
    views = [project.show(outcome.task_id) for outcome in outcomes]
    if as_json:
        for view in views:
            print_json(task_json(view))
        return
    if not views:
        print_text(f"Nothing to run{_describe_waiting(project)}.  Next: ostler status")
    colour = use_colour(sys.stdout)
    columns = max((len(view.id) for view in views), default=0)
    for view in views:
        has_reason = view.code or view.message
        result = describe_state(view) if has_reason else describe_waiting(view) or _describe_result(view)
        status = paint(f"{view.status:<12}", STATUS_COLOURS.get(view.status, ""), colour)
        print_text(f"{status}  {view.id:<{columns}}  {to_one_line(result)}")
    for view in sorted(views, key=lambda view: view.status == TaskStatus.COMPLETED)[:1]:
        names = ("show", "diff", "log") if view.branch else ("show", "log")
        commands = [f"ostler {verb} {view.id}" for verb in names]
        narrow = len("   ".join(commands)) > terminal_width()
        shown = ("\n" if narrow else "   ").join(commands)
        step = "" if view.status == TaskStatus.COMPLETED else next_step(view)
        print_hint(f"\nNext: {step}" if step else f"\n{shown}")


def _describe_result(view: TaskView) -> str:
    """Return where the result of a task is."""
    return view.pr_url or view.output_path or view.branch or "in place"


def _describe_waiting(project: Project) -> str:
    """Return how many tasks wait for a person or for a limit to end."""
    rows = project.journal.open_rows()
    waiting = sum(group_of(row.status) == "needs_you" for row in rows)
    due = [row.resumes_at for row in rows if row.status == TaskStatus.DEFERRED and row.resumes_at]
    parts: list[str] = []
    if waiting:
        parts.append(f"{waiting} {'task waits' if waiting == 1 else 'tasks wait'} for you")
    if due:
        parts.append(f"{len(due)} deferred until {format_local_time(min(due), time.time())}")
    return f": {', '.join(parts)}" if parts else ""
