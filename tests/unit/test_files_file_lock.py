"""A lock file with an owner, for files that other programs change too."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier

import msgspec
import pytest

from ostler.clock import SystemClock
from ostler.errors import Code, OstlerError
from ostler.files import file_lock
from ostler.files.file_lock import FileLock, Owner, acquire, hold_lock, host_id, release, start_time_of
from ostler.testing.virtual_clock import VirtualClock

HOLD = """
import sys, time
from pathlib import Path
from ostler.files.file_lock import FileLock
assert FileLock(Path(sys.argv[1])).try_acquire(float(sys.argv[2]))
print("held", flush=True)
time.sleep(600)
"""
COUNT = """
import asyncio, sys
from pathlib import Path
from ostler.clock import SystemClock
from ostler.files.file_lock import hold_lock

async def count(file, times):
    for _ in range(times):
        async with hold_lock(file, SystemClock(), 240):
            file.write_text(str(int(file.read_text()) + 1))

asyncio.run(count(Path(sys.argv[1]), int(sys.argv[2])))
"""
TAKE = """
import sys
from pathlib import Path
from ostler.files.file_lock import FileLock
lock = FileLock(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
print(lock.try_acquire(float(sys.argv[2])), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "task.md"


def lock_of(file: Path) -> Path:
    return file.with_name("task.md.lock")


def start(code: str, *args: object) -> subprocess.Popen[str]:
    line = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextmanager
def holder(file: Path, now: float) -> Generator[subprocess.Popen[str]]:
    """Start another process that owns the lock until it is killed."""
    with start(HOLD, file, now) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "held\n"
            yield child
        finally:
            child.kill()


def put(file: Path, **changes: object) -> Owner:
    """Write a lock file of another owner."""
    pid = os.getpid()
    owner = Owner(pid, start_time_of(pid), host_id(), "another", VirtualClock().now())
    owner = msgspec.structs.replace(owner, **changes)
    lock_of(file).write_bytes(msgspec.json.encode(owner))
    return owner


def test_one_owns_it_and_then_the_next(file: Path) -> None:
    """The file contains the owner; after the release it is gone and the next owner can take it."""

    async def history() -> None:
        clock = VirtualClock()
        async with hold_lock(file, clock) as lock:
            found = json.loads(lock_of(file).read_bytes())
            assert (found["pid"], found["started"]) == (os.getpid(), start_time_of(os.getpid()))
            assert (found["host"], found["heartbeat"]) == (host_id(), clock.now())
            assert lock_of(file).stat().st_mode & 0o777 == 0o600
            lock.require_ours()
        assert not lock_of(file).exists()
        await release(await acquire(file, clock), clock)
        assert [*file.parent.iterdir()] == []

    asyncio.run(history())


def test_a_living_owner_is_waited_for_five_seconds(file: Path) -> None:
    """The wait is five seconds in steps of 50 ms, and the error names the owner and the next step."""

    async def history() -> None:
        clock = VirtualClock()
        await acquire(file, clock)
        with pytest.raises(OstlerError) as caught:
            await acquire(file, clock)
        assert caught.value.code is Code.STATE_BUSY
        assert f"process {os.getpid()} on" in caught.value.message
        assert str(lock_of(file)) in caught.value.hint
        assert set(clock.slept) == {0.05}
        assert sum(clock.slept) == pytest.approx(5.0, abs=0.06)

    asyncio.run(history())


def test_a_waiter_gets_it_when_it_is_released(file: Path) -> None:
    """A waiter gets the lock soon after the owner releases it."""

    async def history() -> None:
        clock = VirtualClock()

        async def second() -> float:
            async with hold_lock(file, clock):
                return clock.monotonic()

        async with hold_lock(file, clock):
            waiting = asyncio.create_task(second())
            await clock.sleep(2.0)
            assert not waiting.done()
        assert await waiting == pytest.approx(2.0, abs=0.1)

    asyncio.run(history())


def test_the_heart_beats_while_it_is_held(file: Path) -> None:
    """A running owner keeps the lock for an hour, although a lock without heartbeat expires after 60 s."""

    async def history() -> None:
        clock = VirtualClock()
        async with hold_lock(file, clock) as lock:
            for _ in range(60):
                await clock.sleep(60.0)
                assert not FileLock(file).try_acquire(clock.now())
                assert lock.is_ours()
        slept = len(clock.slept)
        await asyncio.sleep(0)
        assert len(clock.slept) == slept  # no heartbeat thread is left

    asyncio.run(history())


@pytest.mark.parametrize(
    ("changes", "silent", "free"),
    [
        ({}, 60.0, False),
        ({}, 60.1, True),
        ({}, -3600.0, False),
        ({"started": "1"}, 0.0, True),
        ({"pid": 2**22 + 1}, 0.0, True),
        ({"pid": 2**22 + 1, "host": "elsewhere"}, 60.0, False),
        ({"pid": 2**22 + 1, "host": "elsewhere"}, 60.1, True),
    ],
)
def test_what_is_stale(file: Path, changes: dict[str, object], silent: float, free: bool) -> None:
    """An ended owner, a reused pid or an old heartbeat; of other machines only the heartbeat counts."""
    put(file, **changes)
    assert FileLock(file).try_acquire(VirtualClock().now() + silent) is free


def test_a_killed_owner_is_replaced_at_once(file: Path) -> None:
    """kill -9 leaves the file; any process may take over, already while the owner is a zombie."""
    now = VirtualClock().now()
    with holder(file, now) as child:
        assert not FileLock(file).try_acquire(now)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert FileLock(file).try_acquire(now)


def test_a_stopped_owner_loses_it_and_takes_nothing_back(file: Path) -> None:
    """An owner that misses its heartbeat gets an error and does not touch the next owner's lock."""
    now = VirtualClock().now()
    slow, quick = FileLock(file), FileLock(file)
    assert slow.try_acquire(now)
    assert quick.try_acquire(now + 61)
    assert not slow.write_heartbeat(now + 62)
    assert slow.try_release()
    assert quick.is_ours()
    with pytest.raises(OstlerError) as caught:
        slow.require_ours()
    assert caught.value.code is Code.CONFLICT
    quick.require_ours()


def test_a_lock_that_is_gone_is_not_given_back_twice(file: Path) -> None:
    """An owner whose file was removed by a person ends without an error, and creates no new file."""

    async def history() -> None:
        clock = VirtualClock()
        async with hold_lock(file, clock) as lock:
            lock_of(file).unlink()
            await clock.sleep(30.0)
            assert not lock.is_ours()
        assert not lock_of(file).exists()

    asyncio.run(history())


@pytest.mark.parametrize("content", [b"", b"4711\n", b"{", b"\xff\xfe", b"[]", b'{"pid": 1}', b"x" * 100_000])
def test_a_strangers_lock_is_respected_until_it_is_old(file: Path, content: bytes) -> None:
    """An unreadable lock counts as taken for 60 s, and as free after that."""
    lock_of(file).write_bytes(content)
    written = lock_of(file).stat().st_mtime
    assert not FileLock(file).try_acquire(written + 59)
    assert lock_of(file).read_bytes() == content
    assert FileLock(file).try_acquire(written + 61)


def test_a_strangers_directory_is_a_lock_too(file: Path) -> None:
    """A directory created by another program is a lock; an old empty one is removed, a full one never."""
    lock_of(file).mkdir()
    made = lock_of(file).stat().st_mtime
    assert not FileLock(file).try_acquire(made + 59)
    (lock_of(file) / "something").touch()
    os.utime(lock_of(file), (made, made))
    assert not FileLock(file).try_acquire(made + 61)
    (lock_of(file) / "something").unlink()
    os.utime(lock_of(file), (made, made))
    asyncio.run(acquire(file, VirtualClock(made + 61)))
    assert lock_of(file).is_file()


def test_a_link_or_a_pipe_is_never_followed(file: Path) -> None:
    """A link is an error that names it, a pipe is another program's lock; neither blocks or is written."""
    target = file.with_name("target")
    target.write_text("kept")
    lock_of(file).symlink_to(target)
    with pytest.raises(OstlerError) as caught:
        FileLock(file).try_acquire(1.0)
    assert str(lock_of(file)) in caught.value.message
    assert target.read_text() == "kept"
    lock_of(file).unlink()
    os.mkfifo(lock_of(file))
    assert not FileLock(file).try_acquire(lock_of(file).stat().st_mtime)


def test_no_directory_is_a_clear_error(file: Path) -> None:
    """A lock in a missing directory is a failed write."""
    with pytest.raises(OstlerError) as caught:
        FileLock(file / "deep" / "file").try_acquire(1.0)
    assert caught.value.code is Code.WORKSPACE_WRITE_FAILED


def test_of_many_takers_one_wins(file: Path) -> None:
    """Of six processes that find the same ended owner at the same time, exactly one takes over."""
    now = VirtualClock().now()
    put(file, started="1")
    children = [start(TAKE, file, now) for _ in range(6)]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        printed = [child.stdout.readline().strip() for child in children if child.stdout]
        assert sorted(printed) == ["False"] * 5 + ["True"]
    finally:
        for child in children:
            child.kill()
            child.communicate()


def test_a_process_that_opened_the_old_lock_does_not_take_the_new_one(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was overtaken between opening and locking finds that the path is another file."""
    now, quick = VirtualClock().now(), FileLock(file)
    put(file, started="1")
    flock = file_lock._flock

    def overtaken(fd: int) -> bool:
        monkeypatch.setattr(file_lock, "_flock", flock)
        assert quick.try_acquire(now)
        return flock(fd)

    monkeypatch.setattr(file_lock, "_flock", overtaken)
    assert not FileLock(file).try_acquire(now)
    assert quick.is_ours()


def test_takers_and_a_waking_owner_never_both_own_it(file: Path) -> None:
    """Three processes take over while the old owner resumes and releases: at most one owns the lock."""
    now = VirtualClock().now()
    with ThreadPoolExecutor(4) as threads:
        for round_ in range(60):
            lock_of(file).unlink(missing_ok=True)
            slow, takers, start = FileLock(file), [FileLock(file) for _ in range(3)], Barrier(4)
            assert slow.try_acquire(now)

            def act(lock: FileLock, slow: FileLock = slow, start: Barrier = start) -> bool:
                start.wait()
                return lock.try_release() and False if lock is slow else lock.try_acquire(now + 61)

            won = [*threads.map(act, [slow, *takers])]
            owners = [lock for lock in takers if lock.is_ours()]
            assert sum(won) == len(owners) <= 1, round_
            assert lock_of(file).exists() == (bool(owners) or slow.is_ours())


def test_a_count_under_the_lock_is_never_wrong(file: Path) -> None:
    """Processes that read, add one and write lose no count, although one is killed while it owns the lock."""
    file.write_text("0")
    with holder(file, SystemClock.now()) as dying:
        children = [start(COUNT, file, 20) for _ in range(3)]
        dying.send_signal(signal.SIGKILL)
        dying.wait()
    assert [child.communicate()[1] or child.returncode for child in children] == [0, 0, 0]
    assert file.read_text() == "60"
    assert [entry.name for entry in file.parent.iterdir()] == ["task.md"]
