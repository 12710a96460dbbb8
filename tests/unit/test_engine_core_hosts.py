"""A task that another host claims: in each stage its workspace is prepared there, then it continues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve, fold
from ostler.engine.core.hosts import HOST_RULES
from ostler.engine.core.step import (
    CallAgent,
    CheckFinal,
    CheckGate,
    Checkpoint,
    Finish,
    PrepareWorkspace,
    Publish,
    ReleaseWorkspace,
)
from ostler.errors import Code
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    FinalChecked,
    GateDecided,
    GateWaiting,
    Published,
    Record,
    StepFailed,
    TaskBlocked,
    TaskClaimed,
    TaskCompleted,
    TaskCreated,
    TaskReleased,
    TaskStarted,
)
from ostler.model.ids import TaskId
from ostler.model.plan import FULL, Gate, build_plan
from ostler.model.policy.protection import MERGE
from ostler.model.state import Stage, State
from ostler.model.task import Task

ID = TaskId("greet-ab12")
COMMAND = Gate("command", command="make check")
CLAIMED, STARTED = TaskClaimed("r1", host="a"), TaskStarted("w", "ostler/greet-ab12", "abc")
MADE = CheckpointMade("implement", "sha", "tree")
PASSED = GateDecided("implement", "command", "pass", "", "sha")
COMPLETE = CallEnded("implement", 1, "complete", answer="answers/1.md", session_id="s1")

# The events that lead to each stage, and the step of the stage.
STAGES: dict[Stage, tuple[tuple[Event, ...], type]] = {
    Stage.NEW: ((CLAIMED,), PrepareWorkspace),
    Stage.READY: ((CLAIMED, STARTED), CallAgent),
    Stage.ITERATED: ((CLAIMED, STARTED, CallEnded("implement", 1, "continue")), Checkpoint),
    Stage.ANSWERED: ((CLAIMED, STARTED, COMPLETE), Checkpoint),
    Stage.CHECKING: ((CLAIMED, STARTED, COMPLETE, MADE), CheckGate),
    Stage.FINAL: ((CLAIMED, STARTED, COMPLETE, MADE, PASSED), CheckFinal),
    Stage.MERGING: (
        (CLAIMED, STARTED, COMPLETE, MADE, PASSED, FinalChecked("command", "merge", "sha")),
        CheckGate,
    ),
    Stage.PUBLISHING: (
        (CLAIMED, STARTED, COMPLETE, MADE, PASSED, FinalChecked("skip", "merge", "sha")),
        Publish,
    ),
    Stage.DONE: (
        (CLAIMED, STARTED, COMPLETE, MADE, PASSED, FinalChecked("skip", "merge", "sha"), Published("merge")),
        Finish,
    ),
}
REPEATS_CALL = (Stage.NEW, Stage.READY, Stage.ITERATED, Stage.ANSWERED)


def created(rules: int) -> TaskCreated:
    plan = build_plan("small", ("implement",))
    phase = replace(plan.phases[0], gate=COMMAND, strategy=FULL, max_iterations=3)
    plan = replace(plan, phases=(phase,), merge_gate=COMMAND, publish="merge")
    return TaskCreated(Task("Greet", id=ID), plan, rules, "seed")


def after(*events: Event, rules: int = HOST_RULES) -> State:
    return fold([Record(ID, n, float(n), event) for n, event in enumerate((created(rules), *events), 1)])


def add(state: State, *events: Event) -> State:
    for event in events:
        state = evolve(state, Record(ID, state.seq + 1, 9.0, event))
    return state


def test_the_table_reaches_each_stage() -> None:
    """The tests below are about the stages that they name."""
    for stage, (events, step) in STAGES.items():
        state = after(*events)
        assert state.stage is stage
        assert type(decide(state)) is step


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage is not Stage.DONE])
def test_another_host_prepares_the_workspace_whatever_the_stage(stage: Stage) -> None:
    """A claim by another host is followed by PrepareWorkspace; then the stage, or the call again."""
    lost = after(*STAGES[stage][0])
    claimed = add(lost, TaskClaimed("r2", host="b"))
    step = decide(claimed)
    assert isinstance(step, PrepareWorkspace)
    moved = evolve(claimed, Record(ID, claimed.seq + 1, 9.0, STARTED, step.key))
    assert (moved.host, moved.workspace_host) == ("b", "b")
    if stage in REPEATS_CALL:
        assert isinstance(decide(moved), CallAgent)
    else:
        # The gates look again at what is about to be published.
        wanted = Stage.FINAL if stage is Stage.PUBLISHING else stage
        assert moved.stage is wanted
        assert type(decide(moved)) is STAGES[wanted][1]
    assert moved.phases[0].retries == 0
    assert moved.commit == lost.commit


@pytest.mark.parametrize("stage", [Stage.ITERATED, Stage.ANSWERED])
def test_a_call_without_its_commit_is_made_again_with_another_key(stage: Stage) -> None:
    """The answer and the changes are on the lost host: the call is repeated in its session, with call + 1."""
    lost = after(*STAGES[stage][0])
    moved = add(lost, TaskClaimed("r2", host="b"), STARTED)
    first, again = decide(after(CLAIMED, STARTED)), decide(moved)
    assert isinstance(first, CallAgent) and isinstance(again, CallAgent)
    assert (moved.call, moved.answer, moved.session_id) == (lost.call + 1, "", lost.session_id)
    assert again.key != first.key


def test_a_repeated_call_gets_the_feedback_of_the_lost_one() -> None:
    """A rejection that the lost call had received is in the prompt of the next one."""
    told = add(
        after(CLAIMED, STARTED, CallEnded("implement", 1, "blocked", Code.AGENT_BLOCKED, "how?")),
        TaskBlocked(Code.AGENT_BLOCKED, "how?"),
        DecisionRecorded("resume", "with a comma"),
    )
    asked = told.feedback_seq
    answered = add(told, CLAIMED, STARTED, COMPLETE)
    assert asked and answered.feedback_seq == 0
    assert add(answered, TaskClaimed("r2", host="b"), STARTED).feedback_seq == asked


@pytest.mark.parametrize("stage", list(STAGES))
def test_the_same_host_goes_on_as_before(stage: Stage) -> None:
    """A restart on the host with the workspace prepares nothing that one machine would not prepare."""
    lost = after(*STAGES[stage][0])
    here = add(lost, TaskClaimed("r2", host="a"))
    alone = add(after(*(without_host(one) for one in STAGES[stage][0])), TaskClaimed("r2"))
    assert decide(here) == decide(alone)
    assert replace(here, host="", workspace_host="") == alone


@pytest.mark.parametrize("stage", list(STAGES))
@pytest.mark.parametrize("rules", range(2, HOST_RULES))
def test_older_rules_ignore_the_host(stage: Stage, rules: int) -> None:
    """A record of a task with older rules is folded as it was when it was written."""
    events = (*STAGES[stage][0], TaskClaimed("r2", host="b"))
    alone = after(*(without_host(one) for one in events), rules=rules)
    assert after(*events, rules=rules) == alone


def test_a_completed_task_needs_no_workspace_for_its_end() -> None:
    """What is published is not prepared again: only the end is recorded, and the workspace released."""
    done = add(after(*STAGES[Stage.DONE][0]), TaskClaimed("r2", host="b"))
    assert isinstance(decide(done), Finish)
    assert isinstance(decide(add(done, TaskCompleted("sha"))), ReleaseWorkspace)


def test_an_ending_is_recorded_first_and_the_workspace_prepared_by_the_next_claim() -> None:
    """The host that recorded an ending never had the workspace: its next claim prepares it too."""
    failed = GateDecided("implement", "command", "could_not_run", "no make", "sha")
    lost = after(CLAIMED, STARTED, COMPLETE, MADE, failed)
    claimed = add(lost, TaskClaimed("r2", host="b"))
    assert isinstance(decide(claimed), Finish)
    blocked = add(claimed, TaskBlocked(Code.GATE_UNRUNNABLE, "no make"))
    resumed = add(blocked, DecisionRecorded("resume"), TaskClaimed("r3", host="b"))
    assert isinstance(decide(resumed), PrepareWorkspace)
    assert add(resumed, STARTED).stage is Stage.CHECKING


def test_a_person_decides_at_a_gate_of_a_task_without_a_workspace() -> None:
    """A decision at a waiting gate counts as before; the workspace is prepared for what follows."""
    waiting = after(CLAIMED, STARTED, COMPLETE, MADE, GateWaiting("implement", "sha"))
    rejected = add(waiting, DecisionRecorded("reject", "shorter"), TaskClaimed("r2", host="b"))
    assert isinstance(decide(rejected), PrepareWorkspace)
    assert isinstance(decide(add(rejected, STARTED)), CallAgent)


def test_a_skipped_phase_is_committed_on_the_new_host() -> None:
    """A skip commits what the workspace contains; the lost call is not made again for it."""
    skipped = add(after(*STAGES[Stage.ANSWERED][0]), DecisionRecorded("skip", "", "implement"))
    assert skipped.stage is Stage.ANSWERED
    moved = add(skipped, TaskClaimed("r2", host="b"), STARTED)
    assert isinstance(decide(moved), Checkpoint)


@pytest.mark.parametrize("stage", [Stage.MERGING, Stage.FINAL, Stage.CHECKING])
def test_a_branch_that_was_rebased_on_the_way_is_checked_again(stage: Stage) -> None:
    """The preparation may follow new work of a predecessor: no commit goes out without its gates."""
    claimed = add(after(*STAGES[stage][0]), TaskClaimed("r2", host="b"))
    moved = add(claimed, replace(STARTED, commit="rebased", tree="other"))
    wanted = Stage.CHECKING if stage is Stage.CHECKING else Stage.FINAL
    assert (moved.stage, moved.commit) == (wanted, "rebased")


def test_a_preparation_that_fails_ends_the_task_at_its_stage() -> None:
    """The commit could not be fetched: a retry resumes where the task was."""
    claimed = add(after(*STAGES[Stage.MERGING][0]), TaskClaimed("r2", host="b"))
    step = decide(claimed)
    assert step is not None
    failed = evolve(
        claimed, Record(ID, claimed.seq + 1, 9.0, StepFailed(Code.WORKTREE_LOST, "no commit"), step.key)
    )
    assert failed.stage is Stage.MERGING
    assert isinstance(decide(failed), Finish)


@given(
    stages=st.sampled_from(list(STAGES)),
    hosts=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=6),
    prepares=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_hosts_that_are_lost_one_after_another_never_use_files_of_another(
    stages: Stage, hosts: list[str], prepares: list[bool]
) -> None:
    """A host may be lost before or after its preparation; each later one prepares unless it has the files."""
    state = after(*STAGES[stages][0])
    keys: set[str] = set()
    for host, is_prepared in zip(hosts, prepares, strict=False):
        state = add(state, TaskClaimed("r", host=host))
        step = decide(state)
        assert step is not None
        if isinstance(step, PrepareWorkspace):
            assert step.key not in keys
            keys.add(step.key)
            if is_prepared:
                state = evolve(state, Record(ID, state.seq + 1, 9.0, STARTED, step.key))
                assert not isinstance(decide(state), PrepareWorkspace)
        elif not isinstance(step, Finish):
            assert state.workspace_host == host
        state = add(state, TaskReleased("lost"))


def without_host(event: Event) -> Event:
    return replace(event, host="") if isinstance(event, TaskClaimed) else event


def test_the_gate_before_publishing_is_the_one_of_the_table() -> None:
    """MERGING asks the gate before publishing, also after a move."""
    moved = add(after(*STAGES[Stage.MERGING][0]), TaskClaimed("r2", host="b"), STARTED)
    step = decide(moved)
    assert isinstance(step, CheckGate) and step.phase == MERGE
