"""Tasks that an agent proposes."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ostler.config.settings import BudgetSettings, Settings
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.proposals import check_proposal
from ostler.project.running.current_attempt import CurrentAttempt


def test_a_proposal_weakens_no_protection(tmp_path: Path) -> None:
    """With run.accept_proposals it starts without a person: tests and the budget stay protected."""
    project = Project.open(tmp_path, {}, create=True)
    task = project.add(Task("First", label="gpu")).id
    wanted = Task("Second", allow_test_changes=True, budget_usd=1000.0, timeout_seconds=1e9, max_retries=1000)
    wanted = replace(wanted, label="release")
    settings = Settings(budget=BudgetSettings(task_usd=2.0))
    found = check_proposal(wanted, CurrentAttempt(task, 1), settings, project.journal)
    assert (found.proposed_by, found.allow_test_changes, found.budget_usd) == (task, False, 2.0)
    assert (found.timeout_seconds, found.max_retries, found.label) == (3600.0, 2, "gpu")
    assert check_proposal(wanted, CurrentAttempt(task, 1), Settings(), project.journal).budget_usd == 1000.0
