"""Actions of callers that go on with the project."""

from __future__ import annotations

from pathlib import Path

from ostler.model.task import Task
from ostler.project.apply_action import apply_action
from ostler.project.project import Project


def test_a_cancel_changes_no_wait_of_the_project(tmp_path: Path) -> None:
    """A thread of a server would wait half an hour for a store that is locked or down, as a run does."""
    with Project.open(tmp_path, {}, create=True) as project:
        task = project.add(Task("One")).id
        assert apply_action(project, {}, task, "cancel").status == "cancelled"
        assert project.journal.wait_seconds == 0
