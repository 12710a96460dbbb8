"""The recorder of an attempt: one write for each turn of the event loop, in order, without secrets."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from ostler.calls.attempts.recorder import EventRecorder
from ostler.calls.attempts.transcript import AttemptFiles, open_in_thread
from ostler.errors import Code, OstlerError
from ostler.model.attempt import Attempt
from ostler.model.call import AgentEvent, SessionStarted, TextReceived, ToolReturned, ToolUsed, UsageReported
from ostler.model.ids import TaskId
from ostler.model.notice import Notice, ToolUsedNotice, UsageNotice
from ostler.model.usage import Usage
from ostler.process.transcript import Transcript

ATTEMPT = Attempt(TaskId("greet-ab12"), "k", "run", "implement", 1, "claude", 1.0, number=1)
TOKEN = "ghp_" + "Q7w9" * 9
EVENTS: list[AgentEvent] = [
    TextReceived("I look around."),
    ToolUsed("Bash", "ls", "t1", Raw(b'{"command":"ls"}')),
    UsageReported(Usage(10, 2)),
    ToolReturned("t1", "a.txt"),
    UsageReported(Usage(3, 1)),
]


class Records:
    """What one attempt leaves: its two files, its notices, and the events that were passed on."""

    def __init__(self, place: Path) -> None:
        self.files = AttemptFiles(place, ATTEMPT, "Do it.", lambda: 100.0)
        self.notices: list[Sequence[Notice]] = []  # of each call
        self.passed: list[AgentEvent] = []
        self._folder = place / "transcripts"

    def record(self, act: Callable[[EventRecorder], Any]) -> None:
        async def run() -> None:
            with EventRecorder(self.files, self.notices.append, self.passed.append) as recorder:
                if (waiting := act(recorder)) is not None:
                    await waiting

        with self.files:
            asyncio.run(run())

    @property
    def log(self) -> list[dict[str, Any]]:
        text = (self._folder / "implement-001.log.ndjson").read_text()
        return [json.loads(line) for line in text.splitlines()]

    @property
    def page(self) -> str:
        return (self._folder / "implement-001.md").read_text()


def add_together(recorder: EventRecorder) -> None:
    for event in EVENTS:
        recorder.add(event)


async def add_in_turns(recorder: EventRecorder) -> None:
    for event in EVENTS:
        recorder.add(event)
        await asyncio.sleep(0)


@pytest.mark.parametrize(("act", "turns"), [(add_together, 1), (add_in_turns, len(EVENTS))])
def test_a_turn_costs_one_write_of_each_kind(
    act: Callable[[EventRecorder], Any], turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of events; the same events in turns of their own are the control."""
    records, written, write = Records(tmp_path), list[int](), os.write

    def count(descriptor: int, data: bytes) -> int:
        written.append(descriptor)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", count)
    records.record(act)
    monkeypatch.undo()
    log, page = sorted((written.count(one) for one in set(written)), reverse=True)[:2]
    shown = 2 if turns > 1 else 1  # the page has the text and the use of the tool
    assert (log, page) == (turns, shown)
    assert len(records.notices) == min(turns, 3)  # the use of the tool, and two counts of tokens


def test_everything_is_recorded_in_order(tmp_path: Path) -> None:
    """In the log, on the page, in the feed, and for who is called after the record."""
    records = Records(tmp_path)
    records.record(add_together)
    assert [entry["type"] for entry in records.log] == [
        "attempt_began", "text_received", "tool_used", "usage_reported", "tool_returned", "usage_reported"
    ]  # fmt: skip
    assert "I look around.\n\n- Bash ls\n" in records.page
    assert records.notices == [[ToolUsedNotice("Bash", "ls"), UsageNotice(Usage(13, 3))]]
    assert records.passed == EVENTS


def test_one_event_with_a_secret_is_redacted_everywhere(tmp_path: Path) -> None:
    """The other events of its turn stay as they are, and so does the id of a session."""
    records = Records(tmp_path)
    started, used = SessionStarted(TOKEN), ToolUsed("Bash", f"curl -H {TOKEN}")

    def act(recorder: EventRecorder) -> None:
        for event in (started, EVENTS[0], used, EVENTS[3]):
            recorder.add(event)

    records.record(act)
    clean = ToolUsed("Bash", "curl -H [redacted:github-token]")
    assert records.passed == [started, EVENTS[0], clean, EVENTS[3]]
    assert records.notices == [[ToolUsedNotice("Bash", clean.detail)]]
    assert records.log[3]["detail"] == clean.detail and clean.detail in records.page
    assert TOKEN not in records.page and TOKEN not in json.dumps(records.log)


def test_a_key_that_is_printed_line_by_line_is_redacted(tmp_path: Path) -> None:
    """Its first line and the others are events of different turns, each of them harmless alone."""
    body = "MIIEpAIBAAKCAQEA7bq98Zu3nVxkP0aW5tGd1fJYkQ2mHs4RcLeNwTzO6yXu8Bv"
    lines = ["-----BEGIN RSA PRIVATE KEY-----", body, "-----END RSA PRIVATE KEY-----"]

    async def act(recorder: EventRecorder) -> None:
        for line in lines:
            recorder.add(TextReceived(line, is_line=True))
            await asyncio.sleep(0)

    records = Records(tmp_path)
    records.record(act)
    assert body not in json.dumps(records.log) and body not in records.page


def test_a_failed_write_is_raised_at_the_next_event_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk stops the agent although the write is no part of reading its output."""
    full = OstlerError(Code.DISK_FULL, "no room")

    def fail(*_: object) -> None:
        raise full

    async def act(recorder: EventRecorder) -> None:
        recorder.add(EVENTS[0])
        await asyncio.sleep(0)
        with pytest.raises(OstlerError, match="no room"):
            recorder.add(EVENTS[1])

    records = Records(tmp_path)
    monkeypatch.setattr(Transcript, "write_lines", fail)
    with pytest.raises(OstlerError, match="no room"):
        records.record(act)
    assert records.passed == []


def test_files_that_are_created_while_a_call_is_cancelled_are_closed(tmp_path: Path) -> None:
    """The page says so, and no descriptor is left."""
    records, began, may_end = list[Records](), threading.Event(), threading.Event()

    def create() -> AttemptFiles:
        began.set()
        may_end.wait(10)
        records.append(Records(tmp_path))
        return records[0].files

    async def run() -> None:
        work = asyncio.create_task(open_in_thread(create))
        await asyncio.to_thread(began.wait, 10)
        work.cancel()
        await asyncio.sleep(0)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await work

    before = len(os.listdir("/proc/self/fd"))
    asyncio.run(run())
    assert "stopped before it was done" in records[0].page
    assert len(os.listdir("/proc/self/fd")) == before
