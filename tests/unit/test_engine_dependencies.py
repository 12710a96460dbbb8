"""Dependencies: when a task is blocked, when it is reopened, and cycles."""

from __future__ import annotations

import pytest

from ostler.engine.core.evolve import fold
from ostler.engine.dependencies import find_cycle, find_dependency_event, list_unmet
from ostler.errors import Code
from ostler.model.attempt import TaskRow
from ostler.model.event import (
    DecisionRecorded,
    Event,
    Record,
    TaskBlocked,
    TaskClaimed,
    TaskCreated,
    TaskReopened,
)
from ostler.model.ids import TaskId
from ostler.model.plan import build_plan
from ostler.model.rows import build_row
from ostler.model.status import TERMINAL, TaskStatus
from ostler.model.task import Task

ID, FIRST, SECOND = TaskId("last-ab12"), TaskId("first-ab12"), TaskId("second-ab12")
LOST = sorted(TERMINAL - {TaskStatus.COMPLETED, TaskStatus.APPROVED})
BLOCKED = TaskBlocked(Code.DEPENDENCY_FAILED, "")


def row(*events: Event) -> TaskRow:
    """A task that depends on two others, after these events."""
    task = Task("Last", id=ID, after=(FIRST, SECOND))
    history = (TaskCreated(task, build_plan("trivial"), 1, "seed"), *events)
    return build_row(fold([Record(ID, n, float(n), event) for n, event in enumerate(history, 1)]))


def statuses(first: str, second: str = "completed") -> dict[TaskId, str]:
    return {FIRST: first, SECOND: second}


def test_only_what_is_not_completed_is_unmet() -> None:
    """Unmet dependencies are listed in their order."""
    assert list_unmet(row(), statuses("pending", "failed")) == (FIRST, SECOND)
    assert list_unmet(row(), statuses("completed", "in_progress")) == (SECOND,)
    assert list_unmet(row(), statuses("completed", "approved")) == ()


@pytest.mark.parametrize("status", LOST)
def test_a_task_is_blocked_when_one_before_it_ended_without_success(status: TaskStatus) -> None:
    """The message contains the dependency and its status."""
    event = find_dependency_event(row(), statuses(status))
    assert isinstance(event, TaskBlocked)
    assert event.code is Code.DEPENDENCY_FAILED
    assert event.message == f"it depends on {FIRST}, which is {status}"


def test_a_task_is_blocked_when_one_before_it_is_gone() -> None:
    """A deleted dependency blocks the task."""
    assert find_dependency_event(row(), {SECOND: "completed"}) == TaskBlocked(
        Code.DEPENDENCY_FAILED, f"it depends on {FIRST}, which is deleted"
    )


@pytest.mark.parametrize("status", sorted(set(TaskStatus) - set(LOST)))
def test_nothing_is_written_while_there_is_hope(status: TaskStatus) -> None:
    """A waiting or blocked dependency may still be completed."""
    assert find_dependency_event(row(), statuses(status)) is None


def test_it_is_written_once() -> None:
    """A blocked task is not blocked again."""
    assert find_dependency_event(row(BLOCKED), statuses("failed")) is None


@pytest.mark.parametrize("status", sorted(set(TaskStatus) - set(LOST)))
def test_it_is_open_again_when_the_one_before_it_is(status: TaskStatus) -> None:
    """A task is reopened when its dependency is retried."""
    assert find_dependency_event(row(BLOCKED), statuses(status)) == TaskReopened(by="dependency")


@pytest.mark.parametrize(
    "events",
    [
        (TaskClaimed("r"),),
        (TaskClaimed("r"), TaskBlocked(Code.AGENT_BLOCKED, "no key")),
        (DecisionRecorded("pause"),),
        (DecisionRecorded("cancel"),),
        (BLOCKED, DecisionRecorded("resume")),
    ],
    ids=["begun", "blocked by its agent", "paused", "about to be cancelled", "goes on without it"],
)
@pytest.mark.parametrize("status", ["failed", "pending"])
def test_decisions_of_people_and_agents_are_kept(events: tuple[Event, ...], status: str) -> None:
    """Only tasks that are blocked by a dependency are changed."""
    assert find_dependency_event(row(*events), statuses(status)) is None


def test_a_task_without_dependencies_is_none_of_this() -> None:
    """A task without dependencies is not decoded."""
    assert find_dependency_event(TaskRow(ID, 1, "pending", "", "P2", 1.0, 1.0, b"not a state"), {}) is None


def graph(**after: str) -> dict[TaskId, tuple[TaskId, ...]]:
    return {TaskId(task): tuple(TaskId(one) for one in names.split()) for task, names in after.items()}


@pytest.mark.parametrize(
    ("after", "cycle"),
    [
        (graph(a="b", b="c", c=""), ""),
        (graph(a="b c", b="d", c="d", d=""), ""),  # two ways to one task are no cycle
        (graph(a="a"), "a a"),
        (graph(a="b", b="c", c="a"), "a b c a"),
        (graph(a="b", b="c", c="b"), "b c b"),
        (graph(a="x b", x="", b="c x", c="b"), "b c b"),
    ],
)
def test_a_cycle_is_found_and_named(after: dict[TaskId, tuple[TaskId, ...]], cycle: str) -> None:
    """The path starts and ends with the same task, without the tasks that lead to it."""
    assert find_cycle([TaskId("a")], after) == cycle.split()


def test_a_long_chain_is_walked_without_recursion() -> None:
    """A cycle of ten thousand tasks is found."""
    names = [TaskId(f"t{number}") for number in range(10_000)]
    after = {name: (names[number - 1],) for number, name in enumerate(names) if number}
    assert find_cycle([names[-1]], after) == []
    assert len(find_cycle([names[-1]], after | {names[0]: (names[-1],)})) == 10_001
