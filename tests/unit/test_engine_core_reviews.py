"""Work that a person sends back, in the core."""

from __future__ import annotations

import pytest

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import begin, evolve
from ostler.engine.core.rules import RULES
from ostler.engine.core.step import CallAgent, Publish, ReleaseWorkspace, Step
from ostler.errors import Code
from ostler.model.event import (
    REVIEW_REQUEST,
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    FinalChecked,
    GateDecided,
    GateWaiting,
    Published,
    Record,
    TaskBlocked,
    TaskClaimed,
    TaskCompleted,
    TaskCreated,
    TaskReopened,
    TaskStarted,
    WorkspaceReleased,
)
from ostler.model.ids import TaskId
from ostler.model.plan import MERGE, Gate, Plan, build_plan
from ostler.model.policy.protection import protection_of_plan
from ostler.model.state import BY_TIMEOUT, Stage, State
from ostler.model.status import TaskStatus
from ostler.model.task import Task, Weight

TASK = TaskId("fix-a1b2")
SENT_BACK = TaskReopened(REVIEW_REQUEST, text="2 comments", review=1)


class History:
    """A task whose steps are performed one after the other."""

    def __init__(self, plan: Plan, rules: int = RULES) -> None:
        created = TaskCreated(Task("t", id=TASK), plan, rules, "s", protection_of_plan(plan))
        self.state: State = begin(Record(TASK, 1, 1.0, created))
        self.keys: list[str] = []
        self.commits = 0

    def add(self, event: Event, step: str = "") -> State:
        self.state = evolve(self.state, Record(TASK, self.state.seq + 1, 2.0, event, step))
        return self.state

    def go_on(self, until: type[Step] | None = None, *, merge: Gate = Gate("auto")) -> Step | None:  # noqa: B008
        """Perform steps until the task waits, or until the next step is of this type."""
        if self.state.status in (TaskStatus.PENDING, TaskStatus.REVISION):
            self.add(TaskClaimed("run"))
        while (step := decide(self.state)) is not None and not (until and isinstance(step, until)):
            assert len(self.keys) < 200, "the task does not end"
            assert step.key not in self.keys, "a key was used again"
            self.keys.append(step.key)
            self.add(self.answer(step, merge), step.key)
        return step

    def answer(self, step: Step, merge: Gate) -> Event:
        match type(step).__name__:
            case "PrepareWorkspace":
                return TaskStarted("w", "ostler/fix", "base", "main")
            case "CallAgent":
                return CallEnded(step.phase, step.iteration, "complete", session_id="s-1")  # pyright: ignore
            case "Checkpoint":
                self.commits += 1
                return CheckpointMade(step.phase, f"commit-{self.commits}", f"tree-{self.commits}")  # pyright: ignore
            case "CheckGate":
                phase = step.phase  # pyright: ignore
                human = "human" in (step.gate.type, merge.type if phase == MERGE else "")  # pyright: ignore
                waiting = GateWaiting(phase, self.state.commit)
                return waiting if human else GateDecided(phase, "auto", "not_checked", "", self.state.commit)
            case "CheckFinal":
                return FinalChecked(merge.type if merge.type == "human" else "skip", self.state.publishing)
            case "Publish":
                return Published(step.how, commit=self.state.commit, into="main")  # pyright: ignore
            case "Finish":
                return TaskCompleted(commit=self.state.commit)
            case _:
                return WorkspaceReleased(commit=self.state.commit)


def complete(weight: Weight = "small", rules: int = RULES) -> History:
    history = History(build_plan(weight), rules)
    assert history.go_on() is None
    assert (history.state.status, history.state.stage) == (TaskStatus.COMPLETED, Stage.CLOSED)
    return history


def test_completed_work_goes_back_on_top_of_its_commit() -> None:
    """The agent of implement continues its session; test runs again; nothing is reset."""
    history = complete()
    before = history.state
    after = history.add(SENT_BACK)
    assert (after.status, after.stage, after.current.id) == (TaskStatus.REVISION, Stage.NEW, "implement")
    assert (after.commit, after.base, after.reset_to) == (before.commit, before.base, None)
    assert (after.round, after.phases[0].first_round) == (before.round + 1, before.phases[0].first_round)
    assert (after.feedback_seq, after.retry_of, after.retry_to) == (after.seq, "test", "implement")
    assert [phase.status for phase in after.phases] == ["pending", "pending"]
    assert isinstance(history.go_on(CallAgent), CallAgent)
    assert history.state.feedback_seq == after.seq
    history.go_on()
    assert history.state.status is TaskStatus.COMPLETED
    assert history.state.commit != before.commit
    assert history.state.feedback_seq == 0


@pytest.mark.parametrize("weight", ["trivial", "small", "large"])
def test_it_can_be_sent_back_any_number_of_times(weight: Weight) -> None:
    """No key occurs twice, and no retry is used up; a plan of one phase repeats it."""
    history = complete(weight)
    for _ in range(5):
        assert history.add(SENT_BACK).status is TaskStatus.REVISION
        history.go_on()
        assert history.state.status is TaskStatus.COMPLETED
    assert sum(phase.retries for phase in history.state.phases) == 0
    assert sum(phase.returns for phase in history.state.phases) == 5


def test_merged_work_is_published_again_when_it_has_a_new_commit() -> None:
    """A round that only answers questions leaves it merged."""
    history = complete()
    history.add(TaskReopened("merge"))
    history.go_on()
    assert history.state.published_into == "main"
    history.add(SENT_BACK)
    assert history.state.published_into == "main"
    history.go_on()
    assert (history.state.status, history.state.published_into) == (TaskStatus.COMPLETED, "")
    history.add(TaskReopened("merge"))
    assert isinstance(history.go_on(Publish), Publish)
    assert isinstance(history.go_on(ReleaseWorkspace), ReleaseWorkspace)
    assert history.state.published_into == "main"


def at_gate(rules: int = RULES, retries: int = 0) -> History:
    plan = build_plan("trivial")
    phases = tuple(
        type(one)(**{name: getattr(one, name) for name in one.__struct_fields__} | {"gate": Gate("human")})
        for one in plan.phases
    )
    plan = Plan(
        **{name: getattr(plan, name) for name in plan.__struct_fields__}
        | {"phases": phases, "max_phase_retries": retries}
    )
    history = History(plan, rules)
    history.go_on()
    assert history.state.status is TaskStatus.NEEDS_REVIEW
    return history


def test_a_rejection_uses_up_no_retry() -> None:
    """A person can reject the work as often as necessary, although no retry is left."""
    history = at_gate()
    for number in range(1, 4):
        after = history.add(DecisionRecorded("reject", "wrong", by="ada"))
        assert (after.status, after.code, after.ending) == (TaskStatus.REVISION, None, None)
        assert (after.phases[0].rejections, after.phases[0].retries) == (number, 0)
        history.go_on()
        assert history.state.status is TaskStatus.NEEDS_REVIEW


def test_a_timeout_uses_up_retries() -> None:
    """The rejection of gates.human_timeout_action is bounded as before."""
    after = at_gate().add(DecisionRecorded("reject", "nobody answered", by=BY_TIMEOUT))
    assert (after.status, after.code) == (TaskStatus.BLOCKED, Code.GATE_REJECTED)


def test_older_rules_stay_for_rejections_without_a_review() -> None:
    """A task of rules 5 is blocked by the last rejection; a review sends it back all the same."""
    after = at_gate(rules=5).add(DecisionRecorded("reject", "wrong", by="ada"))
    assert (after.status, after.code) == (TaskStatus.BLOCKED, Code.GATE_REJECTED)
    after = at_gate(rules=5).add(DecisionRecorded("reject", "2 comments", by="ada", review=1))
    assert (after.status, after.ending) == (TaskStatus.REVISION, None)


def test_an_approval_can_ask_for_the_merge() -> None:
    """The approved work is merged; when a later gate sends it back, the request stays."""
    history = at_gate(retries=1)
    history.add(DecisionRecorded("approve", by="ada", review=1, then="merge"))
    history.go_on(Publish)
    assert (history.state.stage, history.state.publishing) == (Stage.PUBLISHING, "merge")
    history.go_on()
    assert (history.state.status, history.state.published_into) == (TaskStatus.COMPLETED, "main")


def test_a_review_at_the_gate_before_publishing_goes_back_to_implement() -> None:
    """The request to merge belongs to the work; the person is asked again about the next commit."""
    history = complete()
    history.add(TaskReopened("merge"))
    history.go_on(merge=Gate("human"))
    assert (history.state.status, history.state.stage) == (TaskStatus.NEEDS_REVIEW, Stage.MERGING)
    after = history.add(DecisionRecorded("reject", "2 comments", by="ada", review=1))
    assert (after.status, after.current.id, after.completed) == (TaskStatus.REVISION, "implement", None)
    history.go_on(merge=Gate("human"))
    assert (history.state.status, history.state.stage) == (TaskStatus.NEEDS_REVIEW, Stage.MERGING)


def test_a_blocked_agent_continues_with_the_review() -> None:
    """A question is answered with the comments of a review; no phase is sent back."""
    history = History(build_plan("trivial"))
    step = history.go_on(CallAgent)
    assert isinstance(step, CallAgent)
    history.add(CallEnded("implement", 1, "blocked", Code.NEEDS_INPUT, "Which one?"), step.key)
    finish = decide(history.state)
    assert finish is not None
    history.add(TaskBlocked(Code.NEEDS_INPUT, "Which one?"), finish.key)
    after = history.add(DecisionRecorded("resume", "1 comment", by="ada", review=1))
    assert (after.status, after.feedback_seq, after.retry_of) == (TaskStatus.PENDING, after.seq, "")
