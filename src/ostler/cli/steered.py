"""What the commands print that write a person's decision down."""

from __future__ import annotations

from ostler.cli.next_step import next_step
from ostler.cli.out import emit, hint
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json


def told(view: TaskView, as_json: bool, sentence: str) -> None:
    """How the task stands now: as JSON, or in one sentence with what may be done next."""
    if as_json:
        emit(task_json(view))
        return
    step = next_step(view)
    hint(f"{view.id} {sentence}" + (f"  Next: {step}" if step else ""))
