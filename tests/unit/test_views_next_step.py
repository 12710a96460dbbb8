"""The next step of a task as one line."""

from __future__ import annotations

import re
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.plan import GateType
from ostler.model.state import GateObstacle, GateVerdict
from ostler.model.status import TaskStatus
from ostler.views.next_step import advise, next_step, situation_in
from ostler.views.task import GateView, PhaseView, TaskView, as_json

_FACTS: dict[str, Any] = {"id": "mend-the-gate-ab12", "title": "", "message": "", "phase": "implement"}
_EMPTY: dict[str, Any] = {"branch": None, "commit": None, "worktree": None, "session_id": None}
_REST: dict[str, Any] = {
    "resumes_at": None,
    "usage": {},
    "cost_usd": None,
    "created_at": "",
    "updated_at": "",
}
_LISTS: dict[str, Any] = {"weight": "small", "priority": "P2", "iteration": 1, "warnings": (), "phases": ()}


def view(status: str, code: Code | None = None) -> TaskView:
    return msgspec.convert(_FACTS | _EMPTY | _REST | _LISTS | {"status": status, "code": code}, TaskView)


@pytest.mark.parametrize(
    "status", ["pending", "failed", "quarantined", "cancelled", "blocked", "paused", "deferred"]
)
def test_a_task_that_is_not_done_names_a_command_for_itself(status: str) -> None:
    """For every reason of a stop, the line has the next command to copy."""
    assert "ostler r" in next_step(view(status)) and "mend-the-gate-ab12" in next_step(view(status))


@pytest.mark.parametrize("code", list(Code))
def test_every_failure_ends_with_the_retry(code: Code) -> None:
    """A cause that must be corrected is before it, or the log."""
    more = " --budget-usd USD" if code is Code.BUDGET_EXCEEDED else ""
    assert next_step(view("failed", code)).endswith(f"ostler retry mend-the-gate-ab12{more}")


def test_the_cause_is_before_the_retry() -> None:
    """The step for a timeout is to raise the limit, not to read a log."""
    assert next_step(view("failed", Code.TIMEOUT)).startswith("raise run.timeout_seconds")
    assert next_step(view("failed", Code.AGENT_FAILED)).startswith("ostler log")


def test_an_interrupted_task_is_simply_run() -> None:
    """A code without a failure changes nothing."""
    assert next_step(view(TaskStatus.PENDING, Code.INTERRUPTED)) == "ostler run mend-the-gate-ab12"


@pytest.mark.parametrize(
    ("status", "code", "commands"),
    [
        ("needs_review", None, ("review", "approve", "reject")),
        ("paused", None, ("resume",)),
        ("paused", Code.ITERATION_LIMIT, ("log", "resume")),
        ("paused", Code.BUDGET_EXCEEDED, ("retry",)),
        ("blocked", Code.AGENT_BLOCKED, ("log", "resume")),
        ("blocked", Code.STUCK, ("log", "resume")),
        ("blocked", Code.GATE_REJECTED, ("log", "resume", "approve")),
        ("blocked", Code.GATE_UNRUNNABLE, ("retry", "approve")),
        ("blocked", Code.MERGE_CONFLICT, ("resume",)),
        ("revision", None, ("run",)),
    ],
)
def test_a_task_that_waits_for_a_person_names_the_commands(
    status: str, code: Code | None, commands: tuple[str, ...]
) -> None:
    """The commands are in the order in which they are needed."""
    step = next_step(view(status, code))
    assert tuple(re.findall(r"ostler (\w+) mend-the-gate-ab12", step)) == commands


def test_a_paused_task_can_be_answered() -> None:
    """An agent pauses to ask: the step names the option for the answer."""
    assert next_step(view("paused", None)) == "ostler resume mend-the-gate-ab12   with -m TEXT to answer"


@pytest.mark.parametrize(
    ("phase", "kind", "verdict", "status", "step"),
    [
        ("spec", "human", "pending", "needs_review", "ostler log {id}   shows the answer of spec; then"),
        ("spec", "human", "pass", "needs_review", "ostler review {id}   or"),  # publishing
        ("implement", "human", "pending", "needs_review", "ostler review {id}   or"),
        ("implement", "ai", "fail", "blocked", "ostler log {id}   shows the findings; then"),
        ("implement", "human", "pending", "blocked", "ostler diff {id}   and then"),  # by a timeout
        ("spec", "human", "fail", "blocked", "ostler log {id}   shows the answer of spec; then"),
        ("implement", "command", "fail", "blocked", "ostler log {id}   and .ostler/tasks/{id}/gates   show"),
    ],
)
def test_a_decision_names_what_shows_the_work(
    phase: str, kind: GateType, verdict: GateVerdict, status: str, step: str
) -> None:
    """The answer of a phase that only writes a text, the findings of a reviewer, or the diff."""
    gate = GateView(kind, verdict, "", None)
    code = Code.GATE_REJECTED if status == "blocked" else None
    task = replace(view(status, code), phase=phase, phases=(PhaseView(phase, "running", 1, None, gate),))
    assert next_step(task).startswith(step.format(id=task.id))
    assert next_step(task) == advise(situation_in(as_json(task))).text


def test_work_without_changes_has_no_diff_to_read() -> None:
    """The log has the reason."""
    step = next_step(replace(view("needs_review"), warnings=("NO_CHANGES",)))
    assert step.startswith("ostler log mend-the-gate-ab12   shows why nothing changed; then   ostler approve")


def test_a_task_that_comes_after_others_names_them() -> None:
    """A waiting task runs with all others; a task that cannot begin names the task to retry."""
    waiting = msgspec.structs.replace(view("pending"), waits_for=("first-ab12",))
    assert next_step(waiting) == "ostler run --all"
    lost = msgspec.structs.replace(waiting, status=TaskStatus.BLOCKED, code=Code.DEPENDENCY_FAILED)
    assert next_step(lost).startswith("ostler retry first-ab12")
    assert next_step(lost).endswith("ostler resume mend-the-gate-ab12")


def test_a_task_with_a_permission_denial_shows_it() -> None:
    """Another round of iterations would have the same refusal."""
    refused = msgspec.structs.replace(view("paused", Code.ITERATION_LIMIT), warnings=("PERMISSION_DENIED",))
    assert "what was denied; allow it" in next_step(refused)


def test_each_cause_of_a_gate_that_could_not_run_has_its_step() -> None:
    """The gate runs again without another call of the agent."""
    blocked = view("blocked", Code.GATE_UNRUNNABLE)
    steps = {
        cause: next_step(msgspec.structs.replace(blocked, obstacle=cause)) for cause in get_args(GateObstacle)
    }
    assert len(set(steps.values())) == len(steps)
    assert all("ostler resume mend-the-gate-ab12" in step for step in steps.values())
    assert "gates.timeout_seconds" in steps["timeout"] and "ostler doctor" in steps["isolation"]


def test_a_task_that_starts_later_names_when_and_how_to_start_it_now() -> None:
    """`ostler run ID` is refused before; a start that has passed is not mentioned."""
    later = msgspec.structs.replace(view("pending"), not_before="2999-01-31T12:00:00.000Z")
    step = next_step(later)
    assert "from 2999-" in step and "ostler set mend-the-gate-ab12 not_before=" in step
    passed = msgspec.structs.replace(later, not_before="2020-01-31T12:00:00.000Z")
    assert next_step(passed) == "ostler run mend-the-gate-ab12"


def test_a_task_that_is_to_be_cancelled_is_ended_by_the_next_run() -> None:
    """While the settings are invalid, only the decision is recorded; a resume would not continue it."""
    paused = replace(view(TaskStatus.PAUSED), cancel_requested=True)
    assert next_step(paused) == "ostler run mend-the-gate-ab12   ends it"
    assert next_step(replace(paused, status=TaskStatus.IN_PROGRESS)).startswith("ostler log")
