"""What the commands share that write a person's decision down."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.cli.next_step import next_step
from ostler.cli.out import emit, hint, open_project
from ostler.config.find import find_root
from ostler.errors import UsageError
from ostler.project.insider import find_insider
from ostler.project.project import Project
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json


def open_for_person() -> Project:
    """The project, for a word that only a person may say: no agent lets itself through a gate."""
    if find_insider(os.environ, find_root(Path.cwd(), os.environ)) is not None:
        raise UsageError(
            "this is a person's to decide, not an agent's", "ostler report --status needs_review"
        )
    return open_project()


def told(view: TaskView, as_json: bool, sentence: str) -> None:
    """How the task stands now: as JSON, or in one sentence with what may be done next."""
    if as_json:
        emit(task_json(view))
        return
    step = next_step(view)
    hint(f"{view.id} {sentence}" + (f"  Next: {step}" if step else ""))
