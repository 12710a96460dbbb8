"""Projects with many tasks or events, written straight into the journal."""

from __future__ import annotations

from pathlib import Path

import apsw

from ostler.engine.core.rules import RULES
from ostler.engine.records import append_computed_event, create_task
from ostler.errors import Code
from ostler.model.event import DecisionRecorded, TaskBlocked, TaskCompleted, TaskCreated, TaskFailed
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.tasks.planning import plan_task

BEGAN = 1.7e9
# Of ten tasks five are completed, one failed, one asks, one is paused, and two are ready.
EVENTS = {
    **dict.fromkeys(range(5), TaskCompleted("0" * 40)),
    5: TaskFailed(Code.AGENT_FAILED, "exit 1"),
    6: TaskBlocked(Code.NEEDS_INPUT, "Which colour?"),
    7: DecisionRecorded("pause"),
}
OLD_EVENTS = """
    INSERT INTO feed (task, at, type, step, basis, body, version)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    SELECT 'old-' || (i % 1000), i, 'tool_used', '', 0, '{"type":"tool_used","tool":"Bash","detail":"make"}',
        6
    FROM n"""


def add_tasks(root: Path, environ: dict[str, str], count: int) -> None:
    """Add tasks in the usual states, in one transaction."""
    with Project.open(root, environ, create=True) as project, project.journal.transaction():
        plan = plan_task(Task("x"), project.loaded, root)
        for number in range(count):
            at, priority = BEGAN + number, f"P{number % 4}"
            task = Task(f"Task {number} of many", id=TaskId(f"task-{number:06d}"), priority=priority)
            create_task(project.journal, TaskCreated(task, plan, RULES, f"task{number:032x}"), at)
            if (event := EVENTS.get(number % 10)) is not None:
                append_computed_event(project.journal, task.id, lambda _, event=event: event, at)


def add_events(root: Path, environ: dict[str, str], count: int) -> None:
    """Add old lines to the feed of a project."""
    with Project.open(root, environ) as project:
        database = project.layout.database
    db = apsw.Connection(str(database))
    db.execute(OLD_EVENTS, (count,)).fetchall()
    db.close()
