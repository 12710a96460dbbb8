"""Which command leads to a status."""

from __future__ import annotations

import pytest

from ostler.model.status import TaskStatus
from ostler.project.decisions.status_words import find_command


@pytest.mark.parametrize(
    ("now", "command"),
    [
        ("failed", "ostler retry t"),
        ("cancelled", "ostler retry t"),
        ("completed", "ostler rewind t --to PHASE"),
    ],
)
def test_an_ended_task_is_reopened_with_a_command_that_works(now: str, command: str) -> None:
    """A completed task has nothing to retry."""
    assert find_command("t", "pending", TaskStatus(now)) == command
