"""Stateful test of the core: no invalid state is reachable, and no task ends twice."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import begin, evolve, fold
from ostler.engine.core.hosts import HOST_RULES
from ostler.engine.core.repeats import MAX_STEP_FAILURES, bound_failures
from ostler.engine.core.rules import RULES
from ostler.engine.core.step import (
    CallAgent,
    CheckFinal,
    CheckGate,
    Checkpoint,
    Finish,
    PrepareWorkspace,
    Publish,
    ReleaseWorkspace,
    Step,
)
from ostler.engine.core.verdicts import find_gate, has_checked
from ostler.engine.steps.final_check import list_unchecked
from ostler.engine.steps.finish import build_end_event
from ostler.errors import Code
from ostler.model.event import (
    MERGE_REQUEST,
    PUBLISH_REQUEST,
    REBASE_REQUEST,
    REVIEW_REQUEST,
    ActionName,
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    FinalChecked,
    GateDecided,
    GateWaiting,
    Published,
    Rebased,
    Record,
    SettingsAccepted,
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
from ostler.model.plan import Gate, GateType, build_plan
from ostler.model.policy.protection import MERGE, Protection, combine, combine_gates
from ostler.model.state import GateCheck, Stage, State
from ostler.model.status import EXECUTABLE, TERMINAL, TRANSITIONS, TaskStatus
from ostler.model.task import WEIGHTS, Task, Weight

ID = TaskId("t-0001")
ENDS = (TaskCompleted, TaskFailed, TaskCancelled)
VERDICTS = st.sampled_from(
    ["complete", "complete", "review", "blocked", "continue", "failed", "deferred", "paused", "interrupted"]
)
GATES = st.sampled_from(["auto", "auto", "command", "ai", "human", "skip"])
ANSWERS = st.sampled_from(["pass", "pass", "fail", "fail", "could_not_run"])
HOSTS = st.sampled_from(["a", "a", "b"])
VERBS = st.sampled_from(
    [
        "cancel",
        "pause",
        "resume",
        "resume",
        "message",
        "skip",
        "rewind",
        "approve",
        "approve",
        "reject",
        "undo",
    ]
)


REQUESTS = st.sampled_from([MERGE_REQUEST, PUBLISH_REQUEST, REBASE_REQUEST])


def is_undo(event: Event) -> bool:
    return isinstance(event, DecisionRecorded) and event.verb == "undo"


class Life(RuleBasedStateMachine):
    """A task with every possible result of its steps, and decisions of a person at any time."""

    @initialize(
        weight=st.sampled_from(WEIGHTS),
        gates=st.lists(GATES, min_size=6, max_size=6),
        rules=st.sampled_from([1, 2, HOST_RULES, RULES, RULES]),
        data=st.data(),
    )
    def create(self, weight: Weight, gates: list[GateType], rules: int, data: st.DataObject) -> None:
        self.records: list[Record] = []
        plan = build_plan(weight)
        phases = [replace(p, gate=Gate(g)) for p, g in zip(plan.phases, gates, strict=False)]
        how = data.draw(st.sampled_from(["none", "pr", "merge"]))
        plan = replace(plan, phases=tuple(phases), merge_gate=Gate(gates[5]), publish=how)
        created = TaskCreated(Task("t", id=ID, weight=weight), plan, rules, "s")
        self.live = Protection(publish=how)
        self.keys: set[str] = set()
        self.failures: dict[str, int] = {}
        self.records.append(Record(ID, 1, 1.0, created))
        self.state = begin(self.records[0])
        self.ends = 0

    def add(self, event: Event, step: str = "") -> None:
        before = self.state
        record = Record(ID, before.seq + 1, float(before.seq + 1), event, step)
        self.state = evolve(before, record)
        self.records.append(record)
        assert (
            self.state.status == before.status
            or self.state.status in TRANSITIONS[before.status]
            or isinstance(event, TaskReopened)
            or is_undo(event)
        )
        self.count_ends(event, before)

    def count_ends(self, event: Event, before: State) -> None:
        if isinstance(event, TaskReopened) and self.state.status not in TERMINAL:
            self.ends = 0
        if is_undo(event) and self.state.status in TERMINAL:
            self.ends = 1  # the end before the request that was taken back
            return
        if isinstance(event, ENDS) and self.state.status is not before.status:
            self.ends += 1
            assert self.ends == 1, "ended twice"

    @precondition(
        lambda self: self.state.status in EXECUTABLE | {TaskStatus.IN_PROGRESS, TaskStatus.DEFERRED}
    )
    @rule(rules=st.sampled_from([0, 0, 2, HOST_RULES, RULES]), host=HOSTS)
    def claim(self, rules: int, host: str) -> None:
        self.add(TaskClaimed("r", rules, host=host))

    @precondition(lambda self: self.state.status is TaskStatus.IN_PROGRESS)
    @rule(host=HOSTS)
    def lose_the_host(self, host: str) -> None:
        """The host of the task is lost in any stage; another one, or the same after a restart, claims it."""
        self.add(TaskClaimed("r", host=host))

    @rule(
        names=st.dictionaries(st.sampled_from(["implement", "test", "lint", "audit", MERGE]), GATES),
        how=st.sampled_from(["none", "pr", "merge"]),
    )
    def change_settings(self, names: dict[str, GateType], how: Any) -> None:
        """A person edits ostler.toml while the task is open."""
        commands = {"command": "make check"}
        gates = {name: Gate(kind, command=commands.get(kind, "")) for name, kind in names.items()}
        checked = {name: gate for name, gate in gates.items() if not gate.passes_automatically}
        self.live = Protection(checked, how)

    @rule()
    def accept_settings(self) -> None:
        self.add(SettingsAccepted(self.live, "ann"))

    @precondition(lambda self: decide(self.state) is not None)
    @rule(verdict=VERDICTS, fails=st.booleans(), gate=ANSWERS)
    def perform(self, verdict: str, fails: bool, gate: str) -> None:
        self.perform_as(verdict, fails, gate)

    def perform_as(self, verdict: str, fails: bool, gate: str) -> None:
        step = decide(self.state)
        assert step is not None
        self.note(step, verdict)
        self.record(step, self.answer(step, verdict, fails, gate))

    def record(self, step: Step, event: Event) -> None:
        """Add a result as the runner does: the last failure that a step may have ends it."""
        bounded = bound_failures(self.state, step, event)
        if isinstance(bounded, StepFailed):
            self.failures[step.key] = self.failures.get(step.key, 0) + 1
            assert self.failures[step.key] < MAX_STEP_FAILURES, "a step was repeated without a bound"
        self.add(bounded, step.key)

    @precondition(lambda self: decide(self.state) is not None)
    @rule()
    def every_step_fails_from_now_on(self) -> None:
        """A lasting fault: the task ends or waits after a bounded number of records, and keeps its result."""
        before, length = self.state, len(self.records)
        while (step := decide(self.state)) is not None:
            self.record(step, StepFailed(Code.GIT_CORRUPT, "x"))
            assert len(self.records) - length <= 3 * MAX_STEP_FAILURES, "no progress"
        assert before.status not in TERMINAL or self.state.status is before.status
        assert decide(self.state) is None and self.state.status is not TaskStatus.IN_PROGRESS

    @precondition(lambda self: decide(self.state) is not None)
    @rule(verdict=VERDICTS, fails=st.booleans(), gate=ANSWERS, verb=VERBS, place=st.integers(0, 9))
    def answer_too_late(self, verdict: str, fails: bool, gate: str, verb: ActionName, place: int) -> None:
        """A person decides during a step, and the result of the step is recorded afterwards."""
        step = decide(self.state)
        assert step is not None
        self.note(step, verdict)
        event = self.answer(step, verdict, fails, gate)
        self.say(verb, place)
        before = self.skipped()
        self.record(step, event)
        sent_to = {self.state.current.id} if self.state.retry_of else set()
        assert before - self.skipped() <= sent_to, "a skipped phase was begun again"

    @rule(rounds=st.lists(st.tuples(ANSWERS, st.booleans()), min_size=1, max_size=6))
    def publish_several_times(self, rounds: list[tuple[str, bool]]) -> None:
        """Reach publishing directly, which random walks rarely do, then continue at random."""
        for how, fails in rounds:
            self.go_on_to_publishing()
            if isinstance(decide(self.state), Publish):
                self.nothing_leaves_that_its_gates_have_not_seen()
                self.perform_as("complete", fails, how)

    def go_on_to_publishing(self) -> None:
        for _ in range(40):
            if self.state.status in EXECUTABLE:
                self.add(TaskClaimed("r", host="a"))
            elif self.state.status is TaskStatus.NEEDS_REVIEW:
                self.add(DecisionRecorded("approve"))
            elif decide(self.state) is None or isinstance(decide(self.state), Publish):
                return
            else:
                self.perform_as("complete", False, "pass")

    def skipped(self) -> set[str]:
        return {phase.id for phase in self.state.phases if phase.status == "skipped"}

    def note(self, step: Step, verdict: str) -> None:
        if isinstance(step, CallAgent | Publish | CheckGate | CheckFinal) and verdict != "interrupted":
            assert step.key not in self.keys, "a key was used again"
            self.keys.add(step.key)

    def answer(self, step: Step, verdict: Any, fails: bool, gate: Any) -> Event:
        match step:
            case CheckGate(phase=phase, gate=accepted, sha=sha):
                live = self.live.gate(phase) if self.state.rules > 1 else Gate()
                asked = accepted if self.state.review_requested else combine_gates(accepted, live)
                return self.check(phase, asked, sha, gate, fails)
            case CheckFinal():
                return self.check_final(step, gate, fails)
            case Publish():
                return self.publish(step, fails, gate)
            case PrepareWorkspace():
                return StepFailed(Code.GIT_LOCKED, "x") if fails else TaskStarted("/w", "b", "c")
            case CallAgent():
                code = Code.TIMEOUT if verdict in ("failed", "deferred") else None
                return CallEnded(step.phase, step.iteration, verdict, code, resumes_at=9.0)
            case Checkpoint():
                tree = f"tree-{self.state.seq % 3}"  # of three, so that some phases change nothing
                made = CheckpointMade(step.phase, f"made-{self.state.seq}", tree)
                return StepFailed(Code.GIT_CORRUPT, "x") if fails else made
            case Finish():
                return StepFailed(Code.GIT_CORRUPT, "x") if fails else build_end_event(step, self.state)
            case ReleaseWorkspace():
                return StepFailed(Code.GIT_CORRUPT, "x") if fails else WorkspaceReleased(kept=gate == "fail")

    def check(self, phase: str, gate: Gate, sha: str | None, verdict: Any, review: bool) -> Event:
        """Answer as the performer does, with any verdict."""
        if gate.passes_automatically and self.state.rules > 1:
            return GateDecided(phase, gate.type, "not_checked", "", sha)
        if gate.type == "human":
            return GateWaiting(phase, sha)
        asks = "look at it" if review and self.state.rules > 1 else ""
        check = GateCheck(gate.command) if gate.command else None
        return GateDecided(phase, gate.type, verdict, "why", sha, signature="x", check=check, review=asks)

    def check_final(self, step: CheckFinal, verdict: Any, review: bool) -> Event:
        used = combine(self.state.baseline, self.live)
        asked = self.state.requested_publishing or used.publish
        used = replace(used, publish="none" if asked == "rebase" else asked)
        name = step.asked or next(list_unchecked(self.state, used), "")
        if name:
            gate = Gate("human") if step.asked else used.gate(name)
            return self.check(name, gate, step.sha, verdict, review)
        self.used, gate = used, used.gate(MERGE)
        left = "auto" if gate.passes_automatically else gate.type
        return FinalChecked("skip" if has_checked(self.state, MERGE, gate) else left, asked)

    def publish(self, step: Publish, fails: bool, how: str) -> Event:
        """Publishing fails, conflicts, rebases (cleanly or not), or succeeds."""
        if how == "could_not_run":
            return StepFailed(Code.MERGE_CONFLICT, "x", ("f",), "theirs")
        if how == "fail" and step.checked_commit is not None:
            return Rebased(f"moved-{self.state.seq}", "onto", clean=not fails)
        return StepFailed(Code.PUSH_REJECTED, "x") if fails else Published(step.how)

    @rule(verb=VERBS, place=st.integers(0, 9))
    def say(self, verb: ActionName, place: int) -> None:
        names = [phase.id for phase in self.state.plan.phases]
        self.add(DecisionRecorded(verb, "a word", names[place % len(names)]))

    @rule(then=st.sampled_from(["", "merge", "pr"]), place=st.integers(0, 9))
    def take_a_decision_back(self, then: Any, place: int) -> None:
        """An approval, or a request about completed work, that is taken back at once leaves no trace."""
        before = self.state
        completed = before.status is TaskStatus.COMPLETED
        requests = (MERGE_REQUEST, PUBLISH_REQUEST, REBASE_REQUEST)
        request = TaskReopened(requests[place % len(requests)])
        self.add(request if completed else DecisionRecorded("approve", "", then=then))
        decided = self.state
        self.add(DecisionRecorded("undo"))
        kept = decided if decided.undoable is None else before
        after = replace(self.state, seq=kept.seq, updated_at=kept.updated_at, undoable=kept.undoable)
        assert after == kept

    @rule()
    def reopen(self) -> None:
        self.add(TaskReopened())

    @precondition(lambda self: self.state.status is TaskStatus.COMPLETED)
    @rule(ends=st.lists(ANSWERS, max_size=4), cancels=st.booleans(), how=REQUESTS)
    def request_publication(self, ends: list[str], cancels: bool, how: str) -> None:
        """A person asks to publish completed work, and may cancel that: the work stays as it was."""
        before = self.state
        self.add(TaskReopened(how))
        for gate in ends:
            if self.state.status in EXECUTABLE:
                self.add(TaskClaimed("r"))
            if decide(self.state) is not None and self.state.status not in TERMINAL:
                self.perform_as("complete", False, gate)
        if not cancels or self.state.completed is None or self.state.status in TERMINAL:
            return
        self.add(DecisionRecorded("cancel"))
        self.perform_as("complete", False, "pass")
        assert self.state.status is TaskStatus.COMPLETED
        assert (self.state.commit, self.state.phases) == (before.commit, before.phases)

    @precondition(lambda self: self.state.status is TaskStatus.COMPLETED)
    @rule()
    def send_back_completed_work(self) -> None:
        """A person sends completed work back: its agent continues on its commit."""
        before = self.state
        self.add(TaskReopened(REVIEW_REQUEST, text="a review", review=1))
        self.check_sent_back(before)

    @precondition(lambda self: self.state.status in (TaskStatus.NEEDS_REVIEW, TaskStatus.BLOCKED))
    @rule()
    def send_back_waiting_work(self) -> None:
        """A review at a gate never ends in a block because no retry is left, not even with older rules."""
        before = self.state
        self.add(DecisionRecorded("reject", "a review", by="ann", review=1))
        if self.state.status is not before.status:
            self.check_sent_back(before)

    def check_sent_back(self, before: State) -> None:
        state = self.state
        assert (state.status, state.ending) == (TaskStatus.REVISION, None)
        assert (state.feedback_seq, state.commit, state.base) == (state.seq, before.commit, before.base)
        assert sum(p.rejections for p in state.phases) == sum(p.rejections for p in before.phases) + 1
        assert sum(p.retries for p in state.phases) == sum(p.retries for p in before.phases)
        assert state.phases[state.phase].status not in ("completed", "skipped")
        assert not (state.cancel_requested or state.pause_requested or state.merge or state.completed)

    @rule(then=st.sampled_from(["merge", "pr"]))
    def approve_and_publish(self, then: Any) -> None:
        """A person approves the work and asks to publish it."""
        self.add(DecisionRecorded("approve", "", by="ann", review=1, then=then))

    @precondition(lambda self: self.state.status in TERMINAL)
    @rule(place=st.integers(0, 9))
    def rewind(self, place: int) -> None:
        names = [phase.id for phase in self.state.plan.phases]
        self.add(TaskReopened("rewind", names[place % len(names)]))

    @precondition(lambda self: self.state.status is TaskStatus.IN_PROGRESS)
    @rule()
    def stop_the_run(self) -> None:
        self.add(TaskReleased("stopped"))

    def teardown(self) -> None:
        """The fold of all records equals the state."""
        if hasattr(self, "records"):
            assert fold(self.records) == self.state

    @invariant()
    def iterations_stay_within_the_limit(self) -> None:
        if hasattr(self, "state"):
            for phase, limit in zip(self.state.phases, self.state.plan.phases, strict=True):
                assert phase.iterations <= limit.max_iterations + phase.extra_iterations

    @invariant()
    def no_phase_is_lost(self) -> None:
        if hasattr(self, "state"):
            assert [p.id for p in self.state.phases] == [p.id for p in self.state.plan.phases]
            if self.state.status is TaskStatus.COMPLETED:
                assert all(p.status in ("completed", "skipped") for p in self.state.phases)

    @invariant()
    def a_rejection_never_goes_on(self) -> None:
        if hasattr(self, "state") and self.state.status is TaskStatus.COMPLETED:
            printed = [p.gate for p in self.state.phases if p.gate] + [one.gate for one in self.state.gates]
            assert {gate.verdict for gate in printed} <= {"pass", "skipped", "overruled", "not_checked"}

    @invariant()
    def every_gate_has_checked_the_final_files(self) -> None:
        """T10: also gates that were added after their phase, and those that are no phase of the task."""
        if not hasattr(self, "state") or self.state.rules < 2:
            return
        if self.state.stage not in (Stage.MERGING, Stage.PUBLISHING) or not hasattr(self, "used"):
            return
        if self.state.ending is not None:  # the target moved too often: nothing is published
            return
        skipped = {p.id for p in self.state.phases if p.status == "skipped"} | {MERGE}
        for name in self.used.gates.keys() - skipped:
            gate = find_gate(self.state, name)
            assert gate, name
            if gate.type in ("command", "ai") and not gate.by_person:
                same = gate.tree and gate.tree == self.state.tree
                assert gate.verdict == "pass" and (gate.sha == self.state.commit or same), name

    @invariant()
    def a_phase_is_sent_back_a_bounded_number_of_times(self) -> None:
        if hasattr(self, "state"):
            words = sum(isinstance(r.event, DecisionRecorded) for r in self.records)
            assert all(p.retries <= self.state.plan.max_phase_retries + words for p in self.state.phases)

    @invariant()
    def nothing_leaves_that_its_gates_have_not_seen(self) -> None:
        if not hasattr(self, "state") or not isinstance(decide(self.state), Publish):
            return
        state, commit = self.state, self.state.commit or ""
        assert not state.recheck_phases and state.rebases <= 3
        if commit.startswith("moved") and state.rules == 1:
            kinds = [phase.gate.type for phase in state.plan.phases]
            gates = [(k, p.gate) for k, p in zip(kinds, state.phases, strict=True) if p.status == "completed"]
            gates.append((state.plan.merge_gate.type, state.merge))
            seen = [gate for kind, gate in gates if kind in ("command", "ai")]
            assert all(gate and (gate.sha == commit or gate.by_person) for gate in seen)

    @invariant()
    def files_are_used_on_the_host_that_has_them(self) -> None:
        """Only a preparation, an end and a release are performed where the task has no workspace."""
        if hasattr(self, "state") and self.state.workspace_host != self.state.host:
            needs_none = PrepareWorkspace | Finish | ReleaseWorkspace | None
            assert isinstance(decide(self.state), needs_none)

    @invariant()
    def a_terminal_task_starts_no_agent(self) -> None:
        if hasattr(self, "state") and self.state.status in TERMINAL:
            assert not isinstance(decide(self.state), CallAgent | PrepareWorkspace | Checkpoint | Finish)


FULL = bool(os.environ.get("OSTLER_FULL"))
TestLife = pytest.mark.timeout(1800)(Life.TestCase)
TestLife.settings = settings(max_examples=2500 if FULL else 50, stateful_step_count=50, deadline=None)
