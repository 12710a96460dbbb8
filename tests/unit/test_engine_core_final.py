"""The final stage in the core: every gate checks the final commit, and records alone decide."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve, fold
from ostler.engine.core.step import CallAgent, CheckFinal, CheckGate, Finish, PrepareWorkspace, Publish
from ostler.engine.core.verdicts import find_gate, has_checked
from ostler.errors import Code
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    FinalChecked,
    GateDecided,
    GateWaiting,
    Rebased,
    Record,
    SettingsAccepted,
    StepFailed,
    TaskBlocked,
    TaskClaimed,
    TaskCreated,
    TaskStarted,
)
from ostler.model.ids import TaskId
from ostler.model.plan import Gate, build_plan
from ostler.model.policy.protection import Protection
from ostler.model.state import GateCheck, Stage, State
from ostler.model.status import TaskStatus
from ostler.model.task import Task

ID = TaskId("greet-ab12")
CLAIMED, STARTED = TaskClaimed("r1"), TaskStarted("/w", "ostler/greet-ab12", "abc")
LINT = Gate("command", command="lint")


def after(*events: Event, rules: int = 2, protection: Protection | None = None) -> State:
    plan = replace(build_plan("small"), publish="merge")
    history = (TaskCreated(Task("Greet", id=ID), plan, rules, "s", protection), CLAIMED, STARTED, *events)
    return fold([Record(ID, number, float(number), event) for number, event in enumerate(history, 1)])


def phase(name: str, commit: str, tree: str) -> tuple[Event, ...]:
    return (
        CallEnded(name, 1, "complete"),
        CheckpointMade(name, commit, tree),
        GateDecided(name, "auto", "not_checked", "", commit),
    )


DONE = (*phase("implement", "c1", "t1"), *phase("test", "c2", "t2"))


def lint(verdict: str, commit: str = "c2", command: str = "lint") -> GateDecided:
    return GateDecided("lint", "command", verdict, "why", commit, check=GateCheck(command))  # type: ignore[arg-type]


def test_every_phase_is_checked_and_then_the_final_commit() -> None:
    """Also a phase whose gate checks nothing has a recorded verdict."""
    assert isinstance(decide(after(*DONE[:2])), CheckGate)
    state = after(*DONE)
    assert isinstance(decide(state), CheckFinal)
    assert [one.gate.verdict for one in state.phases if one.gate] == ["not_checked"] * 2


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (FinalChecked("skip", "none"), Finish),
        (FinalChecked("skip", "merge"), Publish),
        (FinalChecked("human", "merge"), CheckGate),
        (FinalChecked("command", "none"), CheckGate),
    ],
)
def test_the_record_decides_what_follows(event: FinalChecked, expected: type) -> None:
    """The settings reach the fold only through the record."""
    assert isinstance(decide(after(*DONE, event)), expected)


def test_a_gate_that_is_no_phase_is_stored_under_its_name() -> None:
    state = after(*DONE, lint("pass"))
    assert isinstance(decide(state), CheckFinal) and has_checked(state, "lint", LINT)
    assert not has_checked(state, "lint", Gate("command", command="lint --strict"))


def test_a_failed_gate_of_the_final_commit_returns_the_work_to_implement() -> None:
    state = after(*DONE, lint("fail"))
    step = decide(state)
    assert isinstance(step, CallAgent) and step.phase == "implement"
    assert (state.gates, state.retry_of) == ((), "test")


def test_a_gate_that_has_checked_other_files_checks_again() -> None:
    """T10: the verdict counts for its commit, and for another one with the same files."""
    gate = Gate("command", command="pytest")
    passed = GateDecided("implement", "command", "pass", "", "c1", check=GateCheck("pytest"))
    changed = after(*DONE[:2], passed, *phase("test", "c2", "t2"))
    same = after(*DONE[:2], passed, *phase("test", "c2", "t1"))
    assert (has_checked(changed, "implement", gate), has_checked(same, "implement", gate)) == (False, True)


def test_a_person_can_overrule_a_gate_of_the_final_commit() -> None:
    """T4: the person, the reason and the original verdict are recorded, and the gate does not run again."""
    cannot = (lint("could_not_run"), TaskBlocked(Code.GATE_UNRUNNABLE, "why"))
    state = after(*DONE, *cannot, DecisionRecorded("approve", "not needed", by="ann"))
    found = find_gate(state, "lint")
    assert found and (found.verdict, found.original) == ("overruled", "could_not_run")
    assert (found.by, found.reason, state.status) == ("ann", "not needed", TaskStatus.PENDING)
    assert has_checked(state, "lint", LINT)


@pytest.mark.parametrize(("by", "verdict"), [("", "pass"), ("ann", "overruled")])
def test_an_old_approval_stays_a_pass(by: str, verdict: str) -> None:
    """A journal of an older version folds as before: its decisions have no person."""
    plan = build_plan("trivial")
    plan = replace(plan, phases=(replace(plan.phases[0], gate=LINT),))
    cannot = GateDecided("implement", "command", "could_not_run", "", "c1")
    decision = DecisionRecorded("approve", "x", by=by)
    history = (TaskCreated(Task("Greet", id=ID), plan, 1, "s"), CLAIMED, STARTED, *DONE[:2], cannot)
    history = (*history, TaskBlocked(Code.GATE_UNRUNNABLE, "why"), decision)
    state = fold([Record(ID, number, float(number), event) for number, event in enumerate(history, 1)])
    assert state.phases[0].gate and state.phases[0].gate.verdict == verdict


def test_a_review_that_was_requested_keeps_the_verdict() -> None:
    """A person is asked in spite of the verdict; the approval records what it was."""
    review = GateDecided("implement", "command", "not_checked", "", "c1", review="the gate cannot fail")
    waiting = after(*DONE[:2], review, GateWaiting("implement", "c1", "please look"))
    assert waiting.phases[0].gate and waiting.phases[0].gate.original == "not_checked"
    state = after(
        *DONE[:2], review, GateWaiting("implement", "c1", "x"), DecisionRecorded("approve", by="ann")
    )
    assert state.phases[0].gate and state.phases[0].gate.verdict == "overruled"


@pytest.mark.parametrize(("original", "final"), [("not_checked", False), ("fail", True)])
def test_an_approved_gate_that_cannot_fail_is_asked_on_a_new_commit(original: str, final: bool) -> None:
    """The approval is about the gate; only a result that a person rejected is final."""
    overruled = replace(lint("overruled"), by="ann", original=original)  # type: ignore[arg-type]
    state = after(*DONE, overruled, FinalChecked("skip", "merge"), Rebased("c3", "onto"))
    assert has_checked(after(*DONE, overruled), "lint", LINT)
    assert has_checked(state, "lint", LINT) == final


def test_the_warnings_of_a_gate_that_waits_are_kept() -> None:
    state = after(*DONE[:2], GateWaiting("implement", "c1", "please look", warnings=("check lint: no",)))
    assert state.warnings == ("check lint: no",)


def test_a_rebase_returns_to_the_final_stage() -> None:
    """The verdict about the old commit does not count for the new one."""
    state = after(*DONE, lint("pass"), FinalChecked("skip", "merge"), Rebased("c3", "onto"))
    assert state.stage is Stage.FINAL and not has_checked(state, "lint", LINT)


def test_a_claim_before_publishing_reads_the_settings_again() -> None:
    state = after(*DONE, FinalChecked("skip", "merge"), TaskClaimed("r2"))
    assert isinstance(decide(state), CheckFinal)


def test_a_claim_upgrades_the_rules_and_not_the_history() -> None:
    """A task of rules 1 passed its phases without records; from the claim on it is checked."""
    old = DONE[0:2]
    before = after(*old, rules=1)
    assert before.phases[0].gate and before.phases[0].gate.verdict == "pass"
    live = Protection({"lint": LINT})
    state = after(*old, TaskClaimed("r2", 2, live), rules=1)
    assert (state.rules, state.baseline.gate("lint")) == (2, LINT)
    assert state.phases == before.phases and isinstance(decide(state), PrepareWorkspace)


def test_accepted_settings_replace_the_plans() -> None:
    """A gate that waits for a person and was removed is decided by the next run."""
    human = Protection({"implement": Gate("human")})
    waiting = (*DONE[:2], GateWaiting("implement", "c1", "please look"))
    state = after(*waiting, SettingsAccepted(Protection()), protection=human)
    assert (state.status, state.baseline) == (TaskStatus.PENDING, Protection())
    kept = after(*waiting, SettingsAccepted(human), protection=human)
    assert kept.status is TaskStatus.NEEDS_REVIEW


def test_a_claim_does_not_turn_a_conflict_into_a_gate() -> None:
    """The run died between the conflict and its ending; an approval is not about it."""
    conflict = StepFailed(Code.MERGE_CONFLICT, "both changed a.py", ("a.py",), "theirs")
    blocked = TaskBlocked(Code.MERGE_CONFLICT, "both changed a.py")
    state = after(*DONE, FinalChecked("skip", "merge"), conflict, CLAIMED, blocked)
    assert (state.status, state.stage) == (TaskStatus.BLOCKED, Stage.PUBLISHING)
    again = evolve(state, Record(ID, state.seq + 1, 99.0, DecisionRecorded("approve", by="ann")))
    assert (again.status, again.gates) == (TaskStatus.BLOCKED, ())


def test_a_person_approves_the_checks_that_have_run() -> None:
    """Weakened tests: the verdict of the command stays, and the quality checks are not run once more."""
    checks = ("lint (block): ruff check",)
    passed = GateDecided("test", "command", "pass", "", "c2", check=GateCheck("pytest"), checks=checks)
    asked = (replace(passed, review="tests are gone"), GateWaiting("test", "c2", "please decide"))
    state = after(*DONE[:-1], *asked, DecisionRecorded("approve", by="ann"))
    found = find_gate(state, "test")
    assert found is not None and (found.verdict, found.checks) == ("pass", checks)
