"""Which session an attempt belongs to."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.evolve import begin
from ostler.model.attempt import Attempt
from ostler.model.event import Record, TaskCreated
from ostler.model.ids import TaskId
from ostler.model.plan import plan_for
from ostler.model.state import PhaseState, State
from ostler.model.task import Task, Weight
from ostler.worker.session import held_by, session_cost, session_for

ID = TaskId("greet-ab12")


def state(weight: Weight = "small") -> State:
    return begin(
        Record(ID, 1, 1.0, TaskCreated(Task("Greet", id=ID, weight=weight), plan_for(weight), 1, "seed"))
    )


def attempt(step: str, session: str, cost: float | None = None) -> Attempt:
    return Attempt(ID, step, "r", "implement", 1, "claude", 1.0, 1, session_id=session, session_cost_usd=cost)


def test_the_first_session_is_a_uuid_derived_from_the_task() -> None:
    """The same task always proposes the same id, another round another one."""
    first = session_for(state(), [], "claude", True)
    assert not first.begun and len(first.id) == 36
    assert session_for(state(), [], "claude", True) == first
    assert session_for(replace(state(), round=2), [], "claude", True).id != first.id
    assert session_for(replace(state(), session_seed="other"), [], "claude", True).id != first.id


def test_a_phase_keeps_its_session_over_iterations() -> None:
    """Standard: the second iteration continues what the agent last reported."""
    later = replace(state(), session_id="reported", phases=(PhaseState("implement", "running", 1),))
    found = session_for(later, [attempt(f"{ID}/1.implement.1.1/call", "reported")], "claude", True)
    assert (found.id, found.begun) == ("reported", True)


def test_a_session_that_was_replaced_during_the_call_goes_on() -> None:
    """The run died after the agent had begun another session: that one is continued, not the one before."""
    later = replace(state(), session_id="lost", phases=(PhaseState("implement", "running", 1),))
    before = attempt(f"{ID}/1.implement.1.1/call", "lost")
    crashed = attempt(f"{ID}/1.implement.2.1/call", "begun again")
    assert session_for(replace(later, call=1), [before, crashed], "claude", True).id == "begun again"


def test_an_agent_goes_on_in_its_own_session_only() -> None:
    """After a change of model the other agent begins anew, and the first one finds its own again."""
    mine = attempt(f"{ID}/1.implement.1.1/call", "claude's")
    theirs = replace(attempt(f"{ID}/1.implement.1.1/call", "codex's"), executor="codex", choice="gpt")
    assert not session_for(state(), [mine], "codex", True).begun
    assert session_for(state(), [mine, theirs], "claude", True).id == "claude's"
    assert session_for(state(), [mine, theirs], "codex", True).id == "codex's"
    assert held_by(state(), [mine, theirs]) == "gpt"


def test_a_trivial_task_begins_a_session_per_iteration() -> None:
    """Trivial: the first iteration's session is not the second's."""
    first = session_for(state("trivial"), [], "claude", True)
    later = replace(state("trivial"), session_id="old", phases=(PhaseState("implement", "running", 1),))
    second = session_for(later, [attempt(f"{ID}/1.implement.1.1/call", first.id)], "claude", True)
    assert not second.begun and second.id not in (first.id, "old")


def test_an_interrupted_attempt_is_resumed_even_in_a_trivial_task() -> None:
    """After a crash in the middle of an iteration its own session goes on."""
    crashed = attempt(f"{ID}/1.implement.1.1/call", "crashed")
    found = session_for(state("trivial"), [crashed], "claude", True)
    assert (found.id, found.begun) == ("crashed", True)


def test_an_agent_that_cannot_resume_begins_again() -> None:
    """The id is kept, but nothing is continued."""
    crashed = attempt(f"{ID}/1.implement.1.1/call", "crashed")
    assert not session_for(state(), [crashed], "claude", False).begun


def test_a_running_total_is_the_sessions_largest() -> None:
    """Cost is differenced against what the same session had cost before."""
    attempts = [attempt("a", "s", 0.1), attempt("b", "s", 0.3), attempt("c", "other", 9.0), attempt("d", "s")]
    assert session_cost(attempts, "s") == 0.3
    assert session_cost([], "s") == 0.0
