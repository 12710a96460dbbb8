"""Add copies of a waiting task to the journal: `python copy_task.py TASK COUNT` in the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from msgspec.structs import replace

from ostler.engine.core.evolve import begin, evolve
from ostler.model.event import Record, TaskCreated
from ostler.model.ids import TaskId
from ostler.model.rows import build_row
from ostler.project.project import Project
from ostler.store.journal import Journal


def main() -> None:
    task, count = TaskId(sys.argv[1]), int(sys.argv[2])
    with Project.open(Path.cwd(), dict(os.environ)) as project, project.journal.transaction():
        records = project.journal.read(task)
        for number in range(count):
            copy(project.journal, records, TaskId(f"copy-{number:05d}"))


def copy(journal: Journal, records: list[Record], task: TaskId) -> None:
    state = None
    for record in records:
        event = record.event
        if isinstance(event, TaskCreated):
            event = replace(event, task=replace(event.task, id=task))
        own = replace(record, task=task, event=event, step=record.step.replace(record.task, task, 1))
        state = begin(own) if state is None else evolve(state, own)
        assert journal.append(own, build_row(state))


main()
