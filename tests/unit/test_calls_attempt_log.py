"""The log of an attempt: the same format for every agent, bounded, and one whole line per entry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from ostler.calls.attempts.log import MAX_BYTES, MAX_TEXT_BYTES
from ostler.calls.attempts.result import redact_events
from ostler.calls.attempts.transcript import AttemptFiles
from ostler.errors import Code, OstlerError
from ostler.model.attempt import Attempt
from ostler.model.call import (
    AgentEvent,
    CallResult,
    LineSkipped,
    RetryReported,
    SessionReplaced,
    SessionStarted,
    TextReceived,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageReported,
    WarningRaised,
)
from ostler.model.ids import TaskId
from ostler.model.usage import Usage
from ostler.secrets.sequence import RedactingSequence

ATTEMPT = Attempt(
    TaskId("greet-ab12"), "k", "run", "implement", 2, "claude", 1.0, number=3, model="claude-opus-5-5"
)


class LogWriter:
    """Return the files of an attempt; the clock is at 100, then 101, 102, ..."""

    def __init__(self, place: Path, structured: bool = False) -> None:
        ticks: Iterator[int] = count(100)
        self.files = AttemptFiles(place, ATTEMPT, "Do it.", lambda: float(next(ticks)), structured=structured)
        self._path = place / "transcripts" / "implement-003.log.ndjson"

    def write(self, *events: AgentEvent) -> list[dict[str, Any]]:
        with self.files as files:
            for event in events:
                files.write_events(redact_events([event], RedactingSequence().redact))
        return self.entries()[1:]

    def entries(self) -> list[dict[str, Any]]:
        text = self._path.read_text("utf-8")
        assert text.endswith("\n")
        return [json.loads(line) for line in text.split("\n")[:-1]]


def test_history_begins_with_the_agent_and_the_task(tmp_path: Path) -> None:
    """The log exists as soon as the attempt does, before the first output of the agent."""
    assert LogWriter(tmp_path).entries() == [
        {
            "at": 101.0,
            "type": "attempt_began",
            "schema": "ostler.attempt-log/1",
            "task": "greet-ab12",
            "phase": "implement",
            "number": 3,
            "iteration": 2,
            "executor": "claude",
            "model": "claude-opus-5-5",
        }
    ]


USED = ToolUsed("Edit", "a.py", "u1", Raw(b'{"file_path":"a.py","old_string":"a","new_string":"b"}'))
INPUT = {"file_path": "a.py", "old_string": "a", "new_string": "b"}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (SessionStarted("s", "m", "2"), {"session_id": "s", "model": "m", "version": "2"}),
        (TextReceived("# Done\n"), {"text": "# Done\n"}),
        (USED, {"tool": "Edit", "detail": "a.py", "id": "u1", "input": INPUT}),
        (ToolUsed("T"), {"tool": "T", "detail": "", "id": "", "input": {}}),
        (ToolReturned("u1", "no\n", failed=True), {"id": "u1", "text": "no\n", "failed": True}),
        (ToolDenied("Bash", "rm"), {"tool": "Bash", "detail": "rm"}),
        (RetryReported(Code.RATE_LIMITED, 3.0), {"code": "RATE_LIMITED", "delay_seconds": 3.0}),
        (SessionReplaced("s", resumed=True), {"session_id": "s", "resumed": True}),
        (WarningRaised("beware"), {"message": "beware"}),
        (TextReceived("lone \ud800 half"), {"text": "lone ? half"}),
        (ToolReturned("u\ud800", "nul \x00 and \x1b[31m"), {"id": "u?", "text": "nul \x00 and \x1b[31m"}),
    ],
)
def test_event_becomes_one_line(event: AgentEvent, expected: dict[str, Any], tmp_path: Path) -> None:
    """Each entry has a time and a public type, and no output of an agent can break a line."""
    (entry,) = LogWriter(tmp_path).write(event)
    assert entry.pop("at") == 102.0
    assert entry.pop("type") == type(event).__struct_config__.tag
    assert entry | expected == entry


def test_usage_is_kept_by_kind(tmp_path: Path) -> None:
    """A reader of the log can add up the tokens."""
    (entry,) = LogWriter(tmp_path).write(UsageReported(Usage(1, 2, 3, 4)))
    assert entry["usage"] == {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_tokens": 3,
        "cache_write_tokens": 4,
    }


def test_empty_events_are_left_out(tmp_path: Path) -> None:
    """A skipped line is only in the raw bytes, and an empty message is not logged."""
    assert LogWriter(tmp_path).write(LineSkipped("garbage"), TextReceived("")) == []


def test_structured_answer_is_logged_as_text(tmp_path: Path) -> None:
    """As on the readable page, the log has the text of a structured answer."""
    answer = TextReceived('{"status":"complete","summary":"All is well."}')
    (entry,) = LogWriter(tmp_path, structured=True).write(answer)
    assert "All is well." in entry["text"] and "{" not in entry["text"]


@pytest.mark.parametrize("letter", ["x", "é", "日", "😀"])
def test_long_result_keeps_its_ends(letter: str, tmp_path: Path) -> None:
    """The end of a long output is kept, with a note on the bytes that are left out."""
    (entry,) = LogWriter(tmp_path).write(ToolReturned("u1", "first " + letter * 100_000 + " last"))
    assert entry["truncated"] is True
    assert entry["text"].startswith("first ") and entry["text"].endswith(" last")
    assert "bytes are left out here" in entry["text"]
    assert len(entry["text"].encode()) <= MAX_BYTES + 100


@pytest.mark.parametrize(("length", "cut"), [(MAX_BYTES, False), (MAX_BYTES + 1, True)])
def test_result_is_cut_where_the_limit_is(length: int, cut: bool, tmp_path: Path) -> None:
    """A text that fits is not changed."""
    (entry,) = LogWriter(tmp_path).write(ToolReturned("u1", "x" * length))
    assert entry.get("truncated", False) is cut
    assert cut or entry["text"] == "x" * length


def test_long_input_is_cut_with_a_mark(tmp_path: Path) -> None:
    """A part of an object is not valid JSON: its beginning is kept as a text."""
    given = Raw(json.dumps({"file_path": "a.py", "content": "é" * 50_000}).encode())
    (entry,) = LogWriter(tmp_path).write(ToolUsed("Write", "a.py", "u1", given))
    assert entry["input"]["truncated"] is True
    assert entry["input"]["text"].startswith('{"file_path": "a.py"')
    assert len(entry["input"]["text"]) <= MAX_BYTES


@pytest.mark.parametrize("given", [b'"ls"', b"[1]", b"null", b"", b'{"a":\n1}'])
def test_input_that_is_no_object_becomes_one(given: bytes, tmp_path: Path) -> None:
    """Every line is valid JSON, whatever an agent prints."""
    (entry,) = LogWriter(tmp_path).write(ToolUsed("T", "", "u1", Raw(given)))
    assert entry["input"] == {"text": given.decode()}


def test_endless_message_is_bounded(tmp_path: Path) -> None:
    """A reader seeks line by line: lines have a maximum length."""
    (entry,) = LogWriter(tmp_path).write(TextReceived("x" * (MAX_TEXT_BYTES + 9)))
    assert entry["truncated"] is True and len(entry["text"]) < MAX_TEXT_BYTES + 100


def test_end_has_the_figures(tmp_path: Path) -> None:
    """The last entry has status, duration, usage and cost."""
    writer = LogWriter(tmp_path)
    with writer.files as files:
        result = CallResult(Code.TIMEOUT, "too slow", duration_seconds=1.8, usage=Usage(1, 2))
        files.write_result(result, 0.5)
    end = writer.entries()[-1]
    assert (end["type"], end["status"], end["code"], end["message"]) == (
        "attempt_ended",
        "failed",
        "TIMEOUT",
        "too slow",
    )
    assert (end["seconds"], end["usage"]["output_tokens"], end["cost_usd"]) == (1.8, 2, 0.5)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (KeyboardInterrupt(), "interrupted", "INTERRUPTED"),
        (OstlerError(Code.DISK_FULL, "no room"), "failed", "DISK_FULL"),
    ],
)
def test_history_ends_however_the_attempt_does(
    error: BaseException, status: str, code: str, tmp_path: Path
) -> None:
    """The usage that was reported until then is counted; the cost is unknown."""
    writer = LogWriter(tmp_path)
    with pytest.raises(type(error)), writer.files as files:
        files.write_events(redact_events([UsageReported(Usage(7, 1))], RedactingSequence().redact))
        raise error
    end = writer.entries()[-1]
    assert (end["status"], end["code"], end["cost_usd"]) == (status, code, None)
    assert end["usage"]["input_tokens"] == 7 and end["seconds"] > 0
