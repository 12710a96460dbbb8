"""Which session an attempt uses."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.calls.attempts.session import find_session_cost, model_of_session, select_session
from ostler.engine.core.evolve import begin
from ostler.model.attempt import Attempt
from ostler.model.event import Record, TaskCreated
from ostler.model.ids import TaskId
from ostler.model.plan import build_plan
from ostler.model.state import PhaseState, State
from ostler.model.task import Task, Weight

ID = TaskId("greet-ab12")


def state(weight: Weight = "small") -> State:
    return begin(
        Record(ID, 1, 1.0, TaskCreated(Task("Greet", id=ID, weight=weight), build_plan(weight), 1, "seed"))
    )


def attempt(step: str, session: str, cost: float | None = None) -> Attempt:
    return Attempt(ID, step, "r", "implement", 1, "claude", 1.0, 1, session_id=session, session_cost_usd=cost)


def test_the_first_session_is_a_uuid_derived_from_the_task() -> None:
    """The same task always proposes the same id, another round another one."""
    first = select_session(state(), [], "claude", True)
    assert not first.started and len(first.id) == 36
    assert select_session(state(), [], "claude", True) == first
    assert select_session(replace(state(), round=2), [], "claude", True).id != first.id
    assert select_session(replace(state(), session_seed="other"), [], "claude", True).id != first.id


def test_a_phase_keeps_its_session_over_iterations() -> None:
    """Standard: the second iteration continues the session that the agent last reported."""
    later = replace(state(), session_id="reported", phases=(PhaseState("implement", "running", 1),))
    found = select_session(later, [attempt(f"{ID}/1.implement.1.1/call", "reported")], "claude", True)
    assert (found.id, found.started) == ("reported", True)


def test_a_session_that_was_replaced_during_the_call_goes_on() -> None:
    """The run was killed after the agent had started another session: that one is continued."""
    later = replace(state(), session_id="lost", phases=(PhaseState("implement", "running", 1),))
    before = attempt(f"{ID}/1.implement.1.1/call", "lost")
    crashed = attempt(f"{ID}/1.implement.2.1/call", "begun again")
    assert select_session(replace(later, call=1), [before, crashed], "claude", True).id == "begun again"


def test_an_agent_goes_on_in_its_own_session_only() -> None:
    """After a change of model the other agent starts a session, and the first one resumes its own."""
    mine = attempt(f"{ID}/1.implement.1.1/call", "claude's")
    theirs = replace(attempt(f"{ID}/1.implement.1.1/call", "codex's"), executor="codex", model_name="gpt")
    assert not select_session(state(), [mine], "codex", True).started
    assert select_session(state(), [mine, theirs], "claude", True).id == "claude's"
    assert select_session(state(), [mine, theirs], "codex", True).id == "codex's"
    assert model_of_session(state(), [mine, theirs]) == "gpt"


def test_a_trivial_task_begins_a_session_per_iteration() -> None:
    """Trivial: each iteration has its own session."""
    first = select_session(state("trivial"), [], "claude", True)
    later = replace(state("trivial"), session_id="old", phases=(PhaseState("implement", "running", 1),))
    second = select_session(later, [attempt(f"{ID}/1.implement.1.1/call", first.id)], "claude", True)
    assert not second.started and second.id not in (first.id, "old")


def test_an_interrupted_attempt_is_resumed_even_in_a_trivial_task() -> None:
    """After a crash in an iteration its own session is resumed."""
    crashed = attempt(f"{ID}/1.implement.1.1/call", "crashed")
    found = select_session(state("trivial"), [crashed], "claude", True)
    assert (found.id, found.started) == ("crashed", True)


def test_an_agent_that_cannot_resume_begins_again() -> None:
    """The id is kept, but the session is not resumed."""
    crashed = attempt(f"{ID}/1.implement.1.1/call", "crashed")
    assert not select_session(state(), [crashed], "claude", False).started


def test_a_running_total_is_the_sessions_largest() -> None:
    """The cost of an attempt is the difference to what the session had cost before."""
    attempts = [attempt("a", "s", 0.1), attempt("b", "s", 0.3), attempt("c", "other", 9.0), attempt("d", "s")]
    assert find_session_cost(attempts, "s") == 0.3
    assert find_session_cost([], "s") == 0.0
