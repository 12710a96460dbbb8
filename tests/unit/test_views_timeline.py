"""The timeline of a task from its feed: simple, sent back, waiting, interrupted, retried, running."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from ostler.errors import Code
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    FeedLine,
    GateDecided,
    GateWaiting,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskCreated,
    TaskDeferred,
    TaskFailed,
    TaskPaused,
    TaskReleased,
    TaskReopened,
    TaskStarted,
)
from ostler.model.ids import TaskId
from ostler.model.notice import (
    AgentWarned,
    AttemptEnded,
    AttemptStarted,
    IterationStarted,
    Notice,
    PhaseCompleted,
    PhaseFailed,
    PhaseRetried,
    PhaseStarted,
    SessionReplacedNotice,
    ToolUsedNotice,
    UsageNotice,
    WaitEnded,
    WaitStarted,
)
from ostler.model.plan import build_plan
from ostler.model.task import Task
from ostler.model.usage import Usage
from ostler.views.agent_work.tool_ends import ToolEnd
from ostler.views.timeline import Span, Timeline, view_timeline

ID = TaskId("greet-ab12")
CREATED = TaskCreated(Task("Greet", id=ID), build_plan("trivial"), 1, "seed")
Reported = list[tuple[float, Event | Notice]]


def timeline(reported: Reported, ends: dict[int, list[ToolEnd | None]] | None = None) -> Timeline:
    lines = [
        FeedLine(position, at, ID, Raw(msgspec.json.encode(body)))
        for position, (at, body) in enumerate(reported, 1)
    ]
    return view_timeline(lines, 1000.0, ends)


def call(at: float, phase: str = "implement", number: int = 1, iteration: int = 1) -> Reported:
    """A phase's first call that succeeds after two seconds, with a tool after one."""
    return [
        (at, PhaseStarted(phase)),
        (at, IterationStarted(phase, iteration)),
        (at, AttemptStarted(number, phase, iteration, "claude", "opus")),
        (at + 1.0, ToolUsedNotice("Edit", "a.py")),
        (at + 1.5, UsageNotice(Usage(1, 1))),
        (at + 2.0, AttemptEnded(number, "succeeded")),
        (at + 2.0, CallEnded(phase, iteration, "complete")),
    ]


BEGUN: Reported = [(0.0, CREATED), (1.0, TaskClaimed("r1")), (2.0, TaskStarted())]
DONE: Reported = [(12.5, PhaseCompleted("implement", "c0ffee")), (12.5, TaskCompleted("c0ffee"))]
SIMPLE: Reported = [*BEGUN, *call(10.0), (12.5, CheckpointMade("implement", "c0ffee" * 5)), *DONE]


def brief(span: Span) -> tuple[str, float, float | None, str]:
    return span.name, span.start, span.end, span.status


def of_kind(drawn: Timeline, kind: str) -> list[tuple[str, float, float | None, str]]:
    return [brief(span) for span in drawn.spans if span.kind == kind]


def test_simple_task() -> None:
    """Phase, iteration, attempt and tool are nested in this order."""
    drawn = timeline(SIMPLE)
    assert (drawn.schema, drawn.task, drawn.start, drawn.end) == ("ostler.timeline/1", ID, 0.0, 12.5)
    phase, iteration, attempt, tool = drawn.spans
    assert brief(phase) == ("implement", 10.0, 12.5, "completed")
    assert brief(iteration) == ("implement", 10.0, 12.0, "complete")
    assert brief(attempt) == ("implement", 10.0, 12.0, "succeeded")
    assert brief(tool) == ("Edit", 11.0, 11.5, "done")
    assert [span.parent for span in drawn.spans] == [None, phase.id, iteration.id, attempt.id]
    assert (iteration.number, attempt.number) == (1, 1)
    assert (attempt.detail, tool.detail) == ("claude opus", "a.py")
    assert len({span.id for span in drawn.spans}) == 4


def test_moments_are_marked() -> None:
    """An event without a duration is shown at its time."""
    drawn = timeline(
        [
            *SIMPLE[:6],
            (11.0, ToolUsedNotice("Bash", "rm -rf x", denied=True)),
            (11.1, SessionReplacedNotice("s", resumed=False)),
            (11.2, AgentWarned("beware")),
            *SIMPLE[8:],
        ]
    )
    reported = [(mark.kind, mark.text) for mark in drawn.marks]
    assert reported == [
        ("task_created", "created"),
        ("task_claimed", "claimed by a run"),
        ("task_started", "workspace ready"),
        ("tool_denied", "denied: Bash rm -rf x"),
        ("session_replaced", "the session was lost; a new session starts"),
        ("agent_warned", "beware"),
        ("checkpoint_made", "commit c0ffeec0ff"),
        ("task_completed", "completed"),
    ]
    assert of_kind(drawn, "tool") == []


def test_tool_ends_at_the_time_in_the_attempt_log() -> None:
    """The feed only has the time of the attempt's next output."""
    uses: Reported = [(11.0, ToolUsedNotice("Bash", "a")), (13.0, ToolUsedNotice("Bash", "b"))]
    drawn = timeline([*SIMPLE[:6], *uses], {1: [ToolEnd(11.2, failed=True), None], 7: [ToolEnd(1.0)]})
    assert of_kind(drawn, "tool") == [("Bash", 11.0, 11.2, "failed"), ("Bash", 13.0, None, "running")]


def test_tool_continues_during_other_messages() -> None:
    """A person's message does not mean that the agent's tool has ended."""
    reported: Reported = [*SIMPLE[:6], (11.0, ToolUsedNotice("Bash")), (12.0, DecisionRecorded("pause"))]
    assert of_kind(timeline(reported), "tool") == [("Bash", 11.0, None, "running")]


def test_gate_that_fails_sends_the_work_back() -> None:
    """The gate lasts from the commit to its verdict; both rounds of the phases are shown."""
    drawn = timeline(
        [
            *BEGUN,
            *call(10.0),
            (12.5, PhaseCompleted("implement")),
            *call(20.0, "test", number=2),
            (23.0, CheckpointMade("test", "c1")),
            (25.0, GateDecided("test", "command", "fail", "exited with 1")),
            (25.0, PhaseRetried("test", "implement", 1)),
            *call(30.0, number=3),
            (32.5, PhaseCompleted("implement")),
            *call(40.0, "test", number=4),
            (43.0, CheckpointMade("test", "c2")),
            (44.0, GateDecided("test", "command", "pass", "succeeded")),
            (44.0, PhaseCompleted("test")),
            (44.5, TaskCompleted("c2")),
        ]
    )
    assert of_kind(drawn, "phase") == [
        ("implement", 10.0, 12.5, "completed"),
        ("test", 20.0, 25.0, "failed"),
        ("implement", 30.0, 32.5, "completed"),
        ("test", 40.0, 44.0, "completed"),
    ]
    assert of_kind(drawn, "gate") == [("command", 23.0, 25.0, "fail"), ("command", 43.0, 44.0, "pass")]
    gate = next(span for span in drawn.spans if span.kind == "gate")
    assert (gate.detail, gate.parent) == ("exited with 1", drawn.spans[4].id)
    assert [span.number for span in drawn.spans if span.kind == "attempt"] == [1, 2, 3, 4]


def test_wait_within_a_call() -> None:
    """The wait for a limit is between two attempts of one iteration."""
    drawn = timeline(
        [
            *SIMPLE[:6],
            (11.0, AttemptEnded(1, "failed", Code.RATE_LIMITED, "slow down")),
            (11.0, WaitStarted(41.0, "opus is at its limit")),
            (41.0, WaitEnded("opus is at its limit")),
            (41.0, AttemptStarted(2, "implement", 1, "claude")),
            (43.0, AttemptEnded(2, "succeeded")),
            (43.0, CallEnded("implement", 1, "complete")),
        ]
    )
    assert of_kind(drawn, "wait") == [("wait", 11.0, 41.0, "over")]
    assert of_kind(drawn, "attempt") == [
        ("implement", 10.0, 11.0, "failed"),
        ("implement", 41.0, 43.0, "succeeded"),
    ]
    failed = next(span for span in drawn.spans if span.kind == "attempt")
    assert failed.detail == "claude opus; RATE_LIMITED: slow down"
    assert of_kind(drawn, "iteration") == [("implement", 10.0, 43.0, "complete")]


@pytest.mark.parametrize(
    ("rest", "name"),
    [(TaskDeferred(Code.QUOTA_EXCEEDED, "no more", 90.0), "deferred"), (TaskPaused(), "paused")],
)
def test_rest_is_a_wait_of_its_own(rest: Event, name: str) -> None:
    """Without a run no phase continues; the next run begins another span of the phase."""
    drawn = timeline(
        [
            *BEGUN,
            *call(10.0)[:-2],
            (11.6, AttemptEnded(1, "failed", Code.QUOTA_EXCEEDED)),
            (11.6, CallEnded("implement", 1, "deferred")),
            (12.0, rest),
            (90.0, TaskClaimed("r2")),
            (91.0, IterationStarted("implement", 2)),
            (91.0, AttemptStarted(2, "implement", 2, "claude")),
        ]
    )
    assert of_kind(drawn, "wait") == [(name, 12.0, 90.0, "over")]
    assert of_kind(drawn, "phase") == [("implement", 10.0, 12.0, name), ("implement", 91.0, None, "running")]
    assert drawn.end is None


def test_pause_ends_with_the_decision_of_a_person() -> None:
    """After that it waits for a run, which is another kind of wait."""
    reported: Reported = [
        *BEGUN,
        (12.0, TaskPaused()),
        (20.0, DecisionRecorded("resume")),
        (50.0, TaskClaimed("r2")),
    ]
    assert of_kind(timeline(reported), "wait") == [("paused", 12.0, 20.0, "over")]


def test_crash_cuts_off_what_was_open() -> None:
    """A killed run records nothing: its spans end at its last event, and its own end is recorded later."""
    drawn = timeline(
        [
            *BEGUN,
            *call(10.0)[:4],
            (300.0, TaskClaimed("r2")),
            (301.0, PhaseStarted("implement")),
            (301.0, IterationStarted("implement", 1)),
            (302.0, AttemptEnded(1, "interrupted", Code.INTERRUPTED, "the run ended before the attempt did")),
            (302.0, AttemptStarted(2, "implement", 1, "claude", resumed=True)),
            (304.0, AttemptEnded(2, "succeeded")),
            (304.0, CallEnded("implement", 1, "complete")),
        ]
    )
    assert of_kind(drawn, "attempt") == [
        ("implement", 10.0, 11.0, "interrupted"),
        ("implement", 302.0, 304.0, "succeeded"),
    ]
    assert of_kind(drawn, "tool") == [("Edit", 11.0, 11.0, "interrupted")]
    assert of_kind(drawn, "phase")[0] == ("implement", 10.0, 11.0, "interrupted")


def test_crash_between_two_steps_leaves_the_gate_in_a_phase() -> None:
    """The next run continues with the gate; it is drawn within its phase."""
    drawn = timeline(
        [
            *BEGUN,
            *call(10.0, "test"),
            (60.0, TaskClaimed("r2")),
            (61.0, CheckpointMade("test", "c1")),
            (63.0, GateDecided("test", "command", "pass")),
            (63.0, PhaseCompleted("test")),
        ]
    )
    assert of_kind(drawn, "phase") == [("test", 10.0, 12.0, "interrupted"), ("test", 61.0, 63.0, "completed")]
    gate = drawn.spans[-1]
    assert (brief(gate), gate.parent) == (("command", 61.0, 63.0, "pass"), drawn.spans[-2].id)


def test_retry_after_a_failure_begins_again() -> None:
    """A task that had ended has no end any more."""
    failed: Reported = [
        *BEGUN,
        *call(10.0)[:3],
        (11.0, AttemptEnded(1, "failed", Code.AGENT_FAILED, "it broke")),
        (11.0, CallEnded("implement", 1, "failed", Code.AGENT_FAILED, "it broke")),
        (11.0, PhaseFailed("implement", Code.AGENT_FAILED, "it broke")),
        (11.0, TaskFailed(Code.AGENT_FAILED, "it broke")),
    ]
    assert timeline(failed).end == 11.0
    again = timeline([*failed, (500.0, TaskReopened()), (501.0, TaskClaimed("r2")), *call(502.0, number=2)])
    assert again.end is None
    assert of_kind(again, "phase") == [
        ("implement", 10.0, 11.0, "failed"),
        ("implement", 502.0, None, "running"),
    ]
    phase = again.spans[0]
    assert phase.detail == "AGENT_FAILED: it broke"


def test_live_task_has_open_ends() -> None:
    """A running span has no end yet, and the timeline has the current time."""
    drawn = timeline(SIMPLE[:7])
    assert [span.end for span in drawn.spans] == [None] * 4
    assert [span.status for span in drawn.spans] == ["running"] * 4
    assert (drawn.end, drawn.now) == (None, 1000.0)


@pytest.mark.parametrize(("verb", "status"), [("approve", "pass"), ("reject", "fail")])
def test_person_decides(verb: str, status: str) -> None:
    """The gate lasts until the decision, also beyond the end of the run that started it."""
    word = msgspec.convert({"type": "decision_recorded", "verb": verb, "text": "hm"}, DecisionRecorded)
    reported: Reported = [*BEGUN, *call(10.0), (13.0, GateWaiting("implement", "c1", "look at it"))]
    waiting = timeline(reported)
    assert of_kind(waiting, "gate") == [("human", 13.0, None, "waiting")]
    decided = timeline([*reported, (70.0, TaskClaimed("r2")), (90.0, word)])
    assert of_kind(decided, "gate") == [("human", 13.0, 90.0, status)]
    assert decided.marks[-1].text == f"{verb} hm"


@pytest.mark.parametrize(
    ("end", "status"), [(TaskCancelled("not needed"), "cancelled"), (TaskReleased("stopped"), "stopped")]
)
def test_what_ends_a_task_ends_what_is_open(end: Event, status: str) -> None:
    """No span continues after the end of the task."""
    drawn = timeline([*BEGUN, *call(10.0)[:3], (30.0, end)])
    assert {(span.end, span.status) for span in drawn.spans} == {(30.0, status)}


def test_unknown_events_of_a_newer_version_do_no_harm() -> None:
    """They are skipped."""
    line = FeedLine(1, 5.0, ID, Raw(b'{"type":"moon_landed","phase":"x","until":"whenever"}'))
    drawn = view_timeline([line], 9.0)
    assert (drawn.spans, drawn.marks, drawn.start) == ((), (), 5.0)


def test_task_without_a_feed_has_no_length() -> None:
    """An empty feed gives an empty timeline without an error."""
    drawn = view_timeline([], 9.0)
    assert (drawn.start, drawn.end, drawn.spans) == (9.0, None, ())


def test_every_event_of_a_task_can_be_read() -> None:
    """For any members of an event, the fields that a timeline reads have the right types."""
    bodies: list[type] = [*Event.__args__, *Notice.__args__]
    for body in bodies:
        tag = body.__struct_config__.tag
        view_timeline([FeedLine(1, 5.0, ID, Raw(b'{"type":"%b"}' % str(tag).encode()))], 9.0)


def test_a_line_in_the_form_of_a_newer_version_is_passed_over() -> None:
    """The other lines still give a timeline."""
    lines = [
        FeedLine(1, 100.0, TaskId("t"), Raw(b'{"type": "phase_started", "phase": "implement"}')),
        FeedLine(2, 101.0, TaskId("t"), Raw(b'{"type": "attempt_started", "number": "seven"}')),
    ]
    assert [span.kind for span in view_timeline(lines, 102.0).spans] == ["phase"]
