"""What a run says at its end: how each task stands, and what to type next."""

from __future__ import annotations

import sys
import time

from ostler.cli.next_step import next_step
from ostler.cli.out import emit, hint, say
from ostler.cli.status import waiting, why
from ostler.cli.text import STATUS_COLOURS, one_line, paint, terminal_width, wants_colour
from ostler.clock import local_time
from ostler.model.outcome import Outcome
from ostler.model.status import TaskStatus
from ostler.project.project import Project
from ostler.views.groups import group_of
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json


def conclude_run(project: Project, outcomes: list[Outcome], as_json: bool) -> None:
    """How each task ended, and the next step."""
    views = [project.show(outcome.task_id) for outcome in outcomes]
    if as_json:
        for view in views:
            emit(task_json(view))
        return
    if not views:
        say(f"Nothing to run{_resting(project)}.  ostler status shows all tasks.")
    colour = wants_colour(sys.stdout)
    room = max((len(view.id) for view in views), default=0)
    for view in views:
        told = why(view) if view.code or view.message else waiting(view) or _result(view)
        status = paint(f"{view.status:<12}", STATUS_COLOURS.get(view.status, ""), colour)
        say(f"{status}  {view.id:<{room}}  {one_line(told)}")
    for view in sorted(views, key=lambda view: view.status == TaskStatus.COMPLETED)[:1]:
        verbs = ("show", "diff", "log") if view.branch else ("show", "log")
        commands = [f"ostler {verb} {view.id}" for verb in verbs]
        narrow = len("   ".join(commands)) > terminal_width()
        shown = ("\n" if narrow else "   ").join(commands)
        step = "" if view.status == TaskStatus.COMPLETED else next_step(view)
        hint(f"\nNext: {step}" if step else f"\n{shown}")


def _result(view: TaskView) -> str:
    """Where what came of a task is to be found."""
    return view.pr_url or view.output_path or view.branch or "in place"


def _resting(project: Project) -> str:
    """What there is that only a person, or the end of a limit, can set going."""
    rows = project.journal.open_rows()
    asks = sum(group_of(row.status) == "needs_you" for row in rows)
    due = [row.resumes_at for row in rows if row.status == TaskStatus.DEFERRED and row.resumes_at]
    told: list[str] = []
    if asks:
        told.append(f"{asks} {'task waits' if asks == 1 else 'tasks wait'} for you")
    if due:
        told.append(f"{len(due)} for a limit until {local_time(min(due), time.time())}")
    return f": {', '.join(told)}" if told else ""
