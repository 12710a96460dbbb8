"""A task as people and scripts see it: what cannot be true any more is not shown as true."""

from __future__ import annotations

import pytest

from ostler.engine.core.evolve import fold
from ostler.engine.rows import row_of
from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.event import CallEnded, Event, Record, TaskClaimed, TaskCreated, TaskPaused, TaskStarted
from ostler.model.ids import TaskId
from ostler.model.plan import plan_for
from ostler.model.task import Task
from ostler.views.task import TaskView, view_task

ID = TaskId("greet-ab12")
CREATED = TaskCreated(Task("Greet", id=ID, weight="trivial"), plan_for("trivial"), 1, "seed")
BEGUN: tuple[Event, ...] = (CREATED, TaskClaimed("r1"), TaskStarted())


def view(*events: Event, attempts: int = 0, abandoned: bool = False) -> TaskView:
    state = fold([Record(ID, n, float(n), event) for n, event in enumerate(events, 1)])
    begun = [Attempt(ID, "step", "r1", "implement", 1, "claude", 1.0, number=n + 1) for n in range(attempts)]
    return view_task(row_of(state), begun, abandoned)


@pytest.mark.parametrize(
    ("abandoned", "statuses"), [(False, ["interrupted", "running"]), (True, ["interrupted", "interrupted"])]
)
def test_only_the_newest_attempt_of_a_carried_task_runs(abandoned: bool, statuses: list[str]) -> None:
    """What a killed run left open was cut off, whatever its row says."""
    shown = view(*BEGUN, attempts=2, abandoned=abandoned)
    assert [attempt.status for attempt in shown.attempts] == statuses
    assert shown.attempts[0].code is Code.INTERRUPTED


def test_the_iteration_shown_never_passes_the_last_one() -> None:
    """A task that used all its iterations stands at the last, not at one that will not come."""
    calls = [CallEnded("implement", n, "continue") for n in range(1, 6)]
    assert view(*BEGUN, *calls[:4]).iteration == 5
    assert view(*BEGUN, *calls, TaskPaused(Code.ITERATION_LIMIT)).iteration == 5
