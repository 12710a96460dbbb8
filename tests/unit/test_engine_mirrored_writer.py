"""The writer of a run with [blobs]: the files are there before the record is."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from blob_world import SwitchedBlobs
from journal_values import TASK, make_attempt
from ostler.blobs.failure import BlobsUnavailable
from ostler.blobs.mirror import Mirror
from ostler.engine import mirrored_writer
from ostler.engine.core.evolve import begin, evolve
from ostler.engine.core.hosts import HOST_RULES
from ostler.engine.mirrored_writer import MirroredWriter
from ostler.files.layout import Layout
from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import (
    Event,
    Record,
    TaskCancelled,
    TaskClaimed,
    TaskCreated,
    TaskReleased,
    TaskStarted,
)
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.plan import build_plan
from ostler.model.rows import build_row
from ostler.model.task import Task
from ostler.store.fence import Claim, ClaimLost
from ostler.store.journal import Append
from world import wait_until

PAGE = "transcripts/implement-001.md"
NAME = f"store/tasks/{TASK}/files/{PAGE}"


class Recorder:
    """A writer that notes what the blob of the page has when something is written."""

    store_id = "store"

    def __init__(self, blobs: SwitchedBlobs) -> None:
        self._blobs = blobs
        self.seen: list[tuple[str, bytes | None]] = []

    async def append(
        self,
        record: Record,
        row: TaskRow,
        notices: Sequence[Notice] = (),
        *,
        claim: Claim | None = None,
        then: Sequence[Append] = (),
    ) -> bool:
        if claim is not None and claim.is_over:
            raise ClaimLost(record.task)
        return self._note(type(record.event).__name__)

    async def end_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> bool:
        return self._note("end")

    async def begin_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> int:
        return self._note("begin")

    def notify(self, task: TaskId, at: float, notices: Sequence[Notice], *, claim: object = None) -> None: ...

    def set_session(self, task: TaskId, number: int, session_id: str, *, claim: object = None) -> None: ...

    async def flush(self) -> None: ...

    async def close(self) -> None: ...

    def _note(self, what: str) -> bool:
        self.seen.append((what, None if self._blobs.is_down else self._blobs.read(NAME)))
        return True


class Run:
    """A run of one task on a machine."""

    def __init__(self, root: Path) -> None:
        self.page = Layout(root).task(TASK) / PAGE
        self.page.parent.mkdir(parents=True)
        self.blobs = SwitchedBlobs()
        self.recorder = Recorder(self.blobs)
        self.mirror = Mirror(self.blobs, "store", Layout(root), wait_seconds=0.2)
        self.writer = MirroredWriter(self.recorder, self.mirror)
        plan = build_plan("small", ("implement",))
        self._state = begin(Record(TASK, 1, 1.0, TaskCreated(Task("x", id=TASK), plan, HOST_RULES, "seed")))

    async def append(self, event: Event, text: str, claim: Claim | None = None) -> bool:
        """Write the page, then the record of an event."""
        self.page.write_text(text)
        record = Record(TASK, self._state.seq + 1, 2.0, event)
        self._state = evolve(self._state, record)
        return await self.writer.append(record, build_row(self._state), claim=claim)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path)
    yield made
    made.blobs.is_down = False
    made.mirror.close()


def test_files_are_uploaded_before_each_record(run: Run) -> None:
    """From the claim on, also before the end of an attempt."""

    async def check() -> None:
        await run.append(TaskClaimed("r", host="a"), "1")
        await run.append(TaskStarted("w", "b", "abc"), "2")
        await run.writer.begin_attempt(make_attempt())
        run.page.write_text("3")
        await run.writer.end_attempt(make_attempt())
        await run.append(TaskReleased("stopped"), "4")

    asyncio.run(check())
    assert run.recorder.seen == [
        ("TaskClaimed", b"1"),
        ("TaskStarted", b"2"),
        ("begin", b"2"),
        ("end", b"3"),
        ("TaskReleased", b"4"),
    ]


def test_a_record_of_a_task_that_does_not_run_here_needs_no_request(run: Run) -> None:
    """Such as a decision of the board, of which there can be thousands."""
    run.blobs.is_down = True
    asyncio.run(run.append(TaskCancelled("a dependency failed"), "1"))
    assert run.recorder.seen == [("TaskCancelled", None)] and not run.mirror.is_following(TASK)


def test_a_store_without_an_answer_delays_a_record_only_for_a_while(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The journal is the truth: the record is written, and both lines say what happens."""
    monkeypatch.setattr(mirrored_writer, "REPORT_AFTER_SECONDS", 0.1)
    hanging = threading.Event()
    monkeypatch.setattr(run.mirror, "upload", lambda *_, **__: hanging.wait(20))
    asyncio.run(run.append(TaskClaimed("r", host="a"), "1"))
    hanging.set()
    assert [what for what, _ in run.recorder.seen] == ["TaskClaimed"]
    assert caplog.messages[0] == f"{TASK}: waiting until its files are uploaded to memory"
    assert caplog.messages[1].startswith("the blob store memory does not answer; tasks go on")


def test_a_task_from_another_machine_is_not_claimed_without_its_files(run: Run) -> None:
    """No record is written, and the task stays as it is."""

    async def check() -> None:
        await run.append(TaskClaimed("r", host="a"), "1")
        await run.append(TaskStarted("w", "b", "abc"), "2")
        await run.append(TaskReleased("stopped"), "3")
        run.mirror.drop(TASK)
        run.blobs.is_down = True
        with pytest.raises(BlobsUnavailable):
            await run.append(TaskClaimed("r", host="b"), "4")

    asyncio.run(check())
    assert [what for what, _ in run.recorder.seen] == ["TaskClaimed", "TaskStarted", "TaskReleased"]


def test_a_run_that_lost_its_task_uploads_no_more(run: Run) -> None:
    """Neither before a record, which is refused, nor what its agent still prints."""
    claim = Claim(1)

    async def check() -> None:
        await run.append(TaskClaimed("r", host="a"), "1", claim)
        claim.revoke()
        with pytest.raises(ClaimLost):
            await run.append(TaskStarted("w", "b", "abc"), "2", claim)
        assert not run.mirror.is_following(TASK)

    asyncio.run(check())
    assert run.blobs.read(NAME) == b"1"


def test_a_run_that_a_later_claim_has_fenced_uploads_no_more(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of its agent is reported after that: the files of the task are those of the other run."""
    claim = Claim(1)

    async def refuse(record: Record, *_: object, **__: object) -> bool:
        raise ClaimLost(record.task)

    async def check() -> None:
        await run.append(TaskClaimed("r", host="a"), "1", claim)
        monkeypatch.setattr(run.recorder, "append", refuse)
        with pytest.raises(ClaimLost):
            await run.append(TaskStarted("w", "b", "abc"), "1", claim)
        run.page.write_text("2")
        await run.writer.end_attempt(make_attempt(), claim=claim)

    asyncio.run(check())
    assert run.blobs.read(NAME) == b"1"
    assert not run.mirror.is_following(TASK)


def test_the_background_upload_ends_with_the_lease(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut worker may write no record for long, and another one writes the files of the task."""
    monkeypatch.setattr("ostler.blobs.followed._TICK_SECONDS", 0.02)
    monkeypatch.setattr("ostler.blobs.uploader.PART_SECONDS", 0.02)
    claim = Claim(1)
    asyncio.run(run.append(TaskClaimed("r", host="a"), "1", claim))
    with run.page.open("a") as page:
        page.write("2")
    wait_until(lambda: run.blobs.read(NAME) == b"12", 10, "it is not uploaded")
    claim.revoke()
    time.sleep(0.1)
    with run.page.open("a") as page:
        page.write("3")
    time.sleep(0.2)
    run.mirror.close()
    assert run.blobs.read(NAME) == b"12"


def test_a_claim_after_a_lost_lease_reads_the_files_again(run: Run) -> None:
    """The run before recorded no end; meanwhile another machine ran the task."""
    first, later = Claim(1), "prompts/implement-002.md"

    async def check() -> None:
        await run.append(TaskClaimed("r", host="a"), "1", first)
        first.revoke()
        run.blobs.put(f"store/tasks/{TASK}/files/{later}", b"of another machine")
        await run.append(TaskClaimed("r", host="a"), "2", Claim(2))

    asyncio.run(check())
    assert (run.page.parents[1] / later).read_bytes() == b"of another machine"
    assert run.recorder.seen[-1] == ("TaskClaimed", b"2") and run.mirror.is_following(TASK)
