"""The text of a task in the lists of a terminal."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from test_views_board import TASK

from ostler.cli.terminal.task_table import describe_state
from ostler.errors import Code
from ostler.model.status import TaskStatus
from ostler.views.task import TaskView

PR = "https://github.com/acme/shoes/pull/7"
REVIEW = "please review implement (2dc255af96: 1 file, +1 -0)"


def view(status: TaskStatus, **values: object) -> TaskView:
    return replace(TASK, title="Paint the door", status=status, **values)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (view(TaskStatus.NEEDS_REVIEW, message=REVIEW), f"Paint the door: {REVIEW}"),
        (view(TaskStatus.BLOCKED, code=Code.AGENT_BLOCKED, message="Which colour?"), "Which colour?"),
        (view(TaskStatus.BLOCKED, code=Code.GATE_REJECTED, message="exit 1"), "GATE_REJECTED: exit 1"),
        (view(TaskStatus.FAILED, code=Code.AUTH_FAILED, message="no login"), "AUTH_FAILED: no login"),
        (view(TaskStatus.COMPLETED), "Paint the door"),
        (view(TaskStatus.COMPLETED, published_into="main"), "Paint the door: merged into main"),
        (view(TaskStatus.COMPLETED, published_into="main", pr_url=PR), f"Paint the door: {PR}"),
        (view(TaskStatus.PENDING, waits_for=("one",)), "after one"),
    ],
)
def test_what_a_person_needs_to_recognize_a_task(task: TaskView, text: str) -> None:
    """The title of work under review or done with its result, a question without its code, or a reason."""
    assert describe_state(task) == text
