"""Spans from lines of the feed: their names, their ends, and that they are deterministic."""

from __future__ import annotations

import json

from msgspec import Raw

from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.telemetry.line import DecodedLine, decode_line
from ostler.telemetry.span import Span, span_id, trace_id
from ostler.telemetry.tree import build_spans

TASK = TaskId("add-a-greeting-ab12")
PHASE = {"phase": "implement"}
CALL = {**PHASE, "iteration": 1}
ATTEMPT = {**CALL, "number": 1, "executor": "codex", "model": "gpt-x"}


def lines(*printed: tuple[float, str, dict[str, object]]) -> list[DecodedLine]:
    return [
        decode_line(FeedLine(place, at, TASK, Raw(json.dumps({"type": kind, **more}).encode())))
        for place, (at, kind, more) in enumerate(printed, 1)
    ]


HISTORY = (
    (0.0, "task_created", {}),
    (1.0, "task_claimed", {"run": "one"}),
    (2.0, "phase_started", PHASE),
    (2.0, "iteration_started", CALL),
    (3.0, "attempt_started", ATTEMPT),
    (4.0, "tool_used", {"tool": "Edit", "detail": "a.py"}),
    (5.0, "tool_used", {"tool": "Bash", "denied": True}),
    (6.0, "tool_used", {"tool": "Read"}),
)


def named(spans: list[Span]) -> list[tuple[str, float, float, str]]:
    return [(span.name, span.start, span.end, span.error) for span in spans]


def test_a_span_ends_with_its_line() -> None:
    """A tool ends where the next one begins or its attempt ends; the innermost comes first."""
    spans = build_spans(
        lines(
            *HISTORY,
            (7.0, "attempt_ended", {"number": 1, "status": "failed", "code": "TIMEOUT"}),
            (8.0, "call_ended", {**CALL, "verdict": "failed", "code": "TIMEOUT"}),
            (8.0, "phase_failed", {**PHASE, "code": "TIMEOUT"}),
            (9.0, "task_failed", {"code": "TIMEOUT"}),
        )
    )
    assert named(spans) == [
        ("execute_tool Edit", 4.0, 5.0, ""),
        ("execute_tool Bash", 5.0, 5.0, "denied"),
        ("execute_tool Read", 6.0, 7.0, ""),
        ("invoke_agent codex", 3.0, 7.0, "TIMEOUT"),
        ("call implement 1", 2.0, 8.0, "TIMEOUT"),
        ("phase implement", 2.0, 8.0, "TIMEOUT"),
        ("task", 0.0, 9.0, "TIMEOUT"),
    ]
    attempt = spans[3]
    assert attempt.attributes["gen_ai.provider.name"] == "openai"
    assert attempt.attributes["gen_ai.request.model"] == "gpt-x"
    assert attempt.attributes["error.type"] == "TIMEOUT"


def test_what_a_crash_cut_off_ends_at_its_last_line() -> None:
    """The next run starts an hour later; the call is one, and has two attempts."""
    spans = build_spans(
        lines(
            *HISTORY,
            (3600.0, "task_claimed", {"run": "two"}),
            (3601.0, "phase_started", PHASE),
            (3601.0, "iteration_started", CALL),
            (3602.0, "attempt_ended", {"number": 1, "status": "interrupted", "code": "INTERRUPTED"}),
            (3602.0, "attempt_started", {**ATTEMPT, "number": 2}),
            (3603.0, "attempt_ended", {"number": 2, "status": "succeeded"}),
            (3604.0, "call_ended", {**CALL, "verdict": "complete"}),
        )
    )
    assert named(spans)[2:] == [
        ("execute_tool Read", 6.0, 6.0, ""),
        ("invoke_agent codex", 3.0, 6.0, "INTERRUPTED"),
        ("invoke_agent codex", 3602.0, 3603.0, ""),
        ("call implement 1", 2.0, 3604.0, ""),
    ]


def test_a_task_that_is_opened_again_has_a_second_root() -> None:
    """The first one has ended and is unchanged."""
    end = (9.0, "task_failed", {"code": "TIMEOUT"})
    spans = build_spans(
        lines(HISTORY[0], end, (20.0, "task_reopened", {}), (30.0, "task_completed", {"commit": None}))
    )
    assert named(spans) == [("task", 0.0, 9.0, "TIMEOUT"), ("task", 20.0, 30.0, "")]
    assert [span.key for span in spans] == ["task/1", "task/3"]


def test_reading_on_changes_no_span_that_was_over() -> None:
    """Each prefix of a log has the spans of the longer one that ended in it."""
    history = lines(
        *HISTORY,
        (7.0, "attempt_ended", {"number": 1, "status": "succeeded"}),
        (8.0, "call_ended", {**CALL, "verdict": "complete"}),
        (8.5, "gate_decided", {**PHASE, "verdict": "pass"}),
        (8.5, "phase_completed", PHASE),
        (9.0, "task_completed", {}),
    )
    whole = build_spans(history)
    for size in range(len(history)):
        assert build_spans(history[:size]) == [span for span in whole if span.closed <= size]


def test_ids_are_of_the_store_and_the_task() -> None:
    """They are the same in every process, and differ in every other project."""
    assert trace_id("store", TASK) == trace_id("store", TASK) != trace_id("other", TASK)
    assert span_id("store", TASK, "task/1") != span_id("store", TASK, "task/3")
    assert 0 < trace_id("store", TASK) < 1 << 128
    assert 0 < span_id("store", TASK, "task/1") < 1 << 64


def test_a_line_of_a_newer_version_is_passed_over() -> None:
    """A field of another type does not stop the reading."""
    (line,) = lines((0.0, "attempt_ended", {"number": "first"}))
    assert line.event.type == ""
    assert build_spans([line]) == []
