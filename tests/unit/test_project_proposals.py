"""Tasks that an agent proposes."""

from __future__ import annotations

from pathlib import Path

from ostler.config.settings import RunSettings
from ostler.model.task import Task
from ostler.project.current_attempt import CurrentAttempt
from ostler.project.project import Project
from ostler.project.proposals import check_proposal


def test_a_proposal_does_not_allow_changes_of_tests(tmp_path: Path) -> None:
    """With run.accept_proposals it starts without a person, who would have to allow them."""
    project = Project.open(tmp_path, {}, create=True)
    task = project.add(Task("First")).id
    wanted = Task("Second", allow_test_changes=True)
    found = check_proposal(wanted, CurrentAttempt(task, 1), RunSettings(), project.journal)
    assert (found.proposed_by, found.allow_test_changes) == (task, False)
