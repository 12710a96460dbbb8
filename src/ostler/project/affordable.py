"""Resumes tasks that wait for the next day, when the day's budget was raised or removed."""

from __future__ import annotations

from ostler.calls.spending.budget import Budget, BudgetExceeded, add_estimate, check_budget
from ostler.engine.steps.gates.choice import find_baseline, read_protection
from ostler.errors import Code
from ostler.model.ids import TaskId
from ostler.model.policy.protection import combine
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.project.project import Project
from ostler.store.spending import SpentAmount


def resume_affordable(project: Project, now: float) -> list[TaskId]:
    """Make tasks pending that are deferred because of the day's budget and no longer exceed it.

    A higher budget applies to a task after `ostler config accept`.
    """
    rows = (row for row in project.journal.open_rows() if row.status == TaskStatus.DEFERRED)
    states = [state for state in map(decode_state, rows) if _waits_for_budget(state, now)]
    if not states:
        return []
    with project.store.open_spending() as reader:
        today = add_estimate(reader.spent_today(now))
    resumed = [state.task for state in states if _is_affordable(project, state, today)]
    for task in resumed:
        project.act(task, "resume")
    return resumed


def _waits_for_budget(state: State, now: float) -> bool:
    is_later = state.resumes_at is not None and state.resumes_at > now
    return is_later and state.code is Code.BUDGET_EXCEEDED


def _is_affordable(project: Project, state: State, today: SpentAmount) -> bool:
    live = read_protection(project.task(state.task), state.plan, project.settings)
    budget = Budget(day_usd=combine(find_baseline(state, live), live).day_usd)
    return not isinstance(check_budget(SpentAmount(), today, state.priority, budget), BudgetExceeded)
