"""The mirror of running tasks: what grows, outages, and what a killed process left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blob_world import SwitchedBlobs
from ostler.blobs.failure import BlobsUnavailable
from ostler.blobs.mirror import Mirror
from ostler.files.layout import Layout
from ostler.model.ids import TaskId

TASK = TaskId("t1")
PAGE = "transcripts/implement-001.md"
NAME = f"store/tasks/t1/files/{PAGE}"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostler.blobs.followed._TICK_SECONDS", 0.02)
    monkeypatch.setattr("ostler.blobs.outage.RETRY_SECONDS", 0.05)
    monkeypatch.setattr("ostler.blobs.uploader.PART_SECONDS", 0.05)


@pytest.fixture
def blobs() -> SwitchedBlobs:
    return SwitchedBlobs()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / ".ostler/tasks/t1/transcripts").mkdir(parents=True)
    return Layout(tmp_path)


@pytest.fixture
def mirror(blobs: SwitchedBlobs, layout: Layout) -> Iterator[Mirror]:
    made = Mirror(blobs, "store", layout, wait_seconds=0.3)
    yield made
    blobs.is_down = False
    made.close()


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_running_file_is_uploaded_without_a_record(
    blobs: SwitchedBlobs, mirror: Mirror, layout: Layout
) -> None:
    """From the first upload on, what grows follows by itself, until the task is left."""
    mirror.upload(TASK)
    page = layout.task(TASK) / PAGE
    page.write_bytes(b"one\n")
    until(lambda: blobs.read(NAME) == b"one\n")
    with page.open("ab") as file:
        file.write(b"two\n")
    until(lambda: blobs.read(NAME) == b"one\ntwo\n")
    assert blobs.list()[0].parts == 1 and (layout.not_uploaded / TASK).exists()
    mirror.leave(TASK)
    until(lambda: not (layout.not_uploaded / TASK).exists())
    assert blobs.list()[0].parts == 0 and not mirror.is_following(TASK)


def test_an_outage_delays_one_record_for_a_while(
    blobs: SwitchedBlobs, mirror: Mirror, layout: Layout, caplog: pytest.LogCaptureFixture
) -> None:
    """It is printed once; later records do not wait, and the files follow when the store is back."""
    mirror.upload(TASK)
    blobs.is_down = True
    (layout.task(TASK) / PAGE).write_bytes(b"one\n")
    began = time.monotonic()
    mirror.upload(TASK)
    assert 0.3 <= time.monotonic() - began < 3
    (layout.task(TASK) / PAGE).write_bytes(b"one more\n")
    began = time.monotonic()
    mirror.upload(TASK)
    assert time.monotonic() - began < 0.2
    time.sleep(0.2)
    assert [one for one in caplog.messages if "tasks go on" in one] == caplog.messages
    assert len(caplog.messages) == 1 and "the blob store memory cannot be used" in caplog.text
    blobs.is_down = False
    until(lambda: blobs.read(NAME) == b"one more\n")
    until(lambda: caplog.messages[-1].startswith("the blob store can be used again"))
    blobs.is_down = True
    (layout.task(TASK) / PAGE).write_bytes(b"the second outage is waited for again\n")
    began = time.monotonic()
    mirror.upload(TASK)
    assert time.monotonic() - began >= 0.3


def test_a_short_outage_is_not_noticed(
    blobs: SwitchedBlobs, layout: Layout, caplog: pytest.LogCaptureFixture
) -> None:
    """The record waits, and has its files."""
    mirror = Mirror(blobs, "store", layout, wait_seconds=10)
    mirror.upload(TASK)
    (layout.task(TASK) / PAGE).write_bytes(b"one\n")
    blobs.fail_next = 2
    mirror.upload(TASK)
    assert blobs.read(NAME) == b"one\n" and not caplog.messages
    mirror.close()


def test_a_task_of_another_machine_waits_for_its_files(blobs: SwitchedBlobs, mirror: Mirror) -> None:
    """It cannot go on without them, so its claim fails; a task of this machine is claimed."""
    blobs.is_down = True
    with pytest.raises(BlobsUnavailable):
        mirror.upload(TASK, is_moved=True)
    assert not mirror.is_following(TASK)
    mirror.upload(TASK)
    with pytest.raises(BlobsUnavailable):
        mirror.upload(TaskId("t2"), is_moved=True)


def test_a_dropped_task_is_not_uploaded(blobs: SwitchedBlobs, mirror: Mirror, layout: Layout) -> None:
    """Another machine has claimed it."""
    mirror.upload(TASK)
    mirror.drop(TASK)
    (layout.task(TASK) / PAGE).write_bytes(b"late\n")
    time.sleep(0.3)
    mirror.close()
    assert blobs.list() == []


def test_files_of_a_killed_process_are_uploaded_later(
    blobs: SwitchedBlobs, layout: Layout, caplog: pytest.LogCaptureFixture
) -> None:
    """Also those of a process that ended during an outage; a task that runs is left to its run."""
    killed = Mirror(blobs, "store", layout, wait_seconds=0)
    for task in (TASK, TaskId("t2")):
        killed.upload(task)
    blobs.is_down = True
    (layout.task(TASK) / PAGE).write_bytes(b"last words\n")
    killed._running.pop(TaskId("t2")).drop()
    monkey = pytest.MonkeyPatch()
    monkey.setattr("ostler.blobs.mirror._CLOSE_SECONDS", 0.1)
    killed.close()
    monkey.undo()
    assert "the next run uploads the last files of 1 tasks" in caplog.text
    blobs.is_down = False
    following = Mirror(blobs, "store", layout)
    following.finish_earlier(lambda task: task != "t2")
    until(lambda: not (layout.not_uploaded / TASK).exists())
    assert blobs.read(NAME) == b"last words\n" and (layout.not_uploaded / "t2").exists()
    following.close()


def test_a_request_that_is_answered_after_its_run_has_ended(
    blobs: SwitchedBlobs, mirror: Mirror, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run of the task here reads what other machines changed, and what grows is uploaded again."""
    mirror.upload(TASK)
    page = layout.task(TASK) / PAGE
    page.write_bytes(b"one\n")
    answered, asked = threading.Event(), threading.Event()
    put = blobs.put

    def wait(name: str, data: bytes) -> None:
        asked.set()
        answered.wait(10)
        put(name, data)

    with monkeypatch.context() as patch:
        patch.setattr(blobs, "put", wait)
        late = threading.Thread(target=mirror.upload, args=(TASK,))
        late.start()
        assert asked.wait(10)
        mirror.leave(TASK)
        answered.set()
        late.join(10)
    assert not mirror.is_following(TASK)
    until(lambda: not (layout.not_uploaded / TASK).exists())
    mirror.upload(TASK)
    with page.open("ab") as file:
        file.write(b"two\n")
    until(lambda: blobs.read(NAME) == b"one\ntwo\n")


def test_a_wait_for_the_store_ends_with_the_lease(blobs: SwitchedBlobs, layout: Layout) -> None:
    """When the store is back, another machine may have written the files of the task."""
    mirror, began = Mirror(blobs, "store", layout, wait_seconds=10), time.monotonic()
    (layout.task(TASK) / PAGE).write_bytes(b"one\n")
    blobs.is_down = True
    mirror.upload(TASK, is_over=lambda: time.monotonic() - began > 0.6)
    assert time.monotonic() - began < 5
    blobs.is_down = False
    mirror.close()
    assert blobs.list() == []


def test_a_run_after_a_lost_lease_starts_anew(blobs: SwitchedBlobs, mirror: Mirror, layout: Layout) -> None:
    """The same worker may get the task again, such as after an outage of the server, from another machine."""
    page, lost = layout.task(TASK) / PAGE, threading.Event()
    mirror.upload(TASK, is_over=lost.is_set)
    lost.set()
    until(lambda: not mirror.is_following(TASK))
    blobs.put("store/tasks/t1/files/prompts/implement-002.md", b"of another machine")
    mirror.upload(TASK)
    assert (layout.task(TASK) / "prompts/implement-002.md").read_bytes() == b"of another machine"
    page.write_bytes(b"one\n")
    until(lambda: blobs.read(NAME) == b"one\n")
