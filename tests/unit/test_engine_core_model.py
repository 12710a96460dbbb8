"""The core as a machine that Hypothesis drives: nothing illegal can be reached, nothing ends twice."""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import begin, evolve, fold
from ostler.engine.core.step import CallAgent, Checkpoint, Finish, PrepareWorkspace, ReleaseWorkspace
from ostler.engine.steps.finish import finish
from ostler.errors import Code
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    Record,
    StepFailed,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskCreated,
    TaskFailed,
    TaskReleased,
    TaskReopened,
    TaskStarted,
    WorkspaceReleased,
)
from ostler.model.ids import TaskId
from ostler.model.plan import plan_for
from ostler.model.status import EXECUTABLE, TERMINAL, TRANSITIONS, TaskStatus
from ostler.model.task import WEIGHTS, Task

ID = TaskId("t-0001")
ENDS = (TaskCompleted, TaskFailed, TaskCancelled)
VERDICTS = st.sampled_from(["complete", "blocked", "continue", "failed", "deferred", "interrupted"])


class Life(RuleBasedStateMachine):
    """A task whose steps are answered in every way that a performer may answer, with people interfering."""

    @initialize(weight=st.sampled_from(WEIGHTS))
    def create(self, weight: str) -> None:
        self.records: list[Record] = []
        created = TaskCreated(Task("t", id=ID, weight=weight), plan_for(weight), 1, "s")  # type: ignore[arg-type]
        self.records.append(Record(ID, 1, 1.0, created))
        self.state = begin(self.records[0])
        self.calls: set[str] = set()

    def add(self, event: Event) -> None:
        before = self.state.status
        record = Record(ID, self.state.seq + 1, float(self.state.seq + 1), event)
        self.state = evolve(self.state, record)
        self.records.append(record)
        assert (
            self.state.status == before
            or self.state.status in TRANSITIONS[before]
            or isinstance(event, TaskReopened)
        )

    @precondition(
        lambda self: self.state.status in EXECUTABLE | {TaskStatus.IN_PROGRESS, TaskStatus.DEFERRED}
    )
    @rule()
    def claim(self) -> None:
        self.add(TaskClaimed("r"))

    @precondition(lambda self: decide(self.state) is not None)
    @rule(verdict=VERDICTS, fails=st.booleans())
    def perform(self, verdict: str, fails: bool) -> None:
        step = decide(self.state)
        match step:
            case PrepareWorkspace():
                self.add(StepFailed(Code.GIT_LOCKED, "x") if fails else TaskStarted("/w", "b", "c"))
            case CallAgent():
                code = Code.TIMEOUT if verdict in ("failed", "deferred") else None
                self.add(CallEnded(step.phase, step.iteration, verdict, code, resumes_at=9.0))  # type: ignore[arg-type]
            case Checkpoint():
                self.add(StepFailed(Code.GIT_CORRUPT, "x") if fails else CheckpointMade(step.phase, "sha"))
            case Finish():
                self.add(finish(step, self.state))
            case ReleaseWorkspace():
                self.add(WorkspaceReleased(kept=fails))
            case None:
                raise AssertionError

    @rule()
    def cancel(self) -> None:
        self.add(DecisionRecorded("cancel"))

    @rule()
    def reopen(self) -> None:
        self.add(TaskReopened())

    @precondition(lambda self: self.state.status is TaskStatus.IN_PROGRESS)
    @rule()
    def stop_the_run(self) -> None:
        self.add(TaskReleased("stopped"))

    @invariant()
    def the_fold_of_all_records_is_the_state(self) -> None:
        if hasattr(self, "records"):
            assert fold(self.records) == self.state

    @invariant()
    def an_end_is_written_once_between_reopenings(self) -> None:
        ends = 0
        reopened = False
        for record in getattr(self, "records", []):
            if isinstance(record.event, ENDS):
                ends += 1
                assert ends == 1, "ended twice"
            if isinstance(record.event, TaskReopened) and ends:
                before = fold(self.records[: record.seq - 1]).status
                reopened = before in TERMINAL and before is not TaskStatus.COMPLETED
                ends = 0 if reopened else ends

    @invariant()
    def iterations_stay_within_the_limit(self) -> None:
        if hasattr(self, "state"):
            for phase, limit in zip(self.state.phases, self.state.plan.phases, strict=True):
                assert phase.iterations <= limit.max_iterations

    @invariant()
    def a_terminal_task_wants_no_agent(self) -> None:
        if hasattr(self, "state") and self.state.status in TERMINAL:
            assert not isinstance(decide(self.state), CallAgent | PrepareWorkspace | Checkpoint | Finish)


FULL = bool(os.environ.get("OSTLER_FULL"))
TestLife = Life.TestCase
TestLife.settings = settings(max_examples=2500 if FULL else 100, stateful_step_count=50, deadline=None)
