"""Lock files for files that other programs edit too: FILE.lock names the owner and its last heartbeat.

Every process that removes or replaces FILE.lock holds flock on that same inode. Of two processes that take
over from a dead owner, one wins, and no process removes the lock of another. A FILE.lock of another program,
file or directory, is respected until it is 60 s old.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from pathlib import Path

import msgspec

from ostler.clock import Clock
from ostler.errors import Code, OstlerError
from ostler.files.atomic import create_exclusive, write_projection
from ostler.files.disk import to_disk_error

TIMEOUT_SECONDS = 5.0
_POLL_SECONDS = 0.05
_HEARTBEAT_SECONDS = 10.0
_STALE_SECONDS = 60.0
_RELEASE_TRIES = 100
_MAX_BYTES = 4096


class Owner(msgspec.Struct, frozen=True):
    """The content of FILE.lock."""

    pid: int
    started: str  # distinguishes the process from a later one with the same pid
    host: str
    token: str  # of this acquisition
    heartbeat: float  # seconds since the epoch


class FileLock:
    """The lock of one file, held while FILE.lock contains our token."""

    def __init__(self, file: Path) -> None:
        self.path = file.with_name(f"{file.name}.lock")
        self._token = os.urandom(16).hex()

    def try_acquire(self, now: float) -> bool:
        """Acquire a free or stale lock; return False while another process owns it."""
        if os.path.lexists(self.path):
            return self._take_over(now)
        return create_exclusive(self.path, self._data(now), durable=False)

    def is_ours(self) -> bool:
        """Return whether the lock is still ours: it is lost after a minute without a heartbeat."""
        with _open_lock_file(self.path, os.O_RDONLY) as fd:
            return fd is not None and self._owns(fd)

    def require_ours(self) -> None:
        """Raise CONFLICT when the lock was lost; call it before writing what the lock protects."""
        if not self.is_ours():
            message = f"{self.path} was taken over by another program"
            raise OstlerError(Code.CONFLICT, message, "run it again")

    def write_heartbeat(self, now: float) -> bool:
        """Write a heartbeat; return False when the lock is lost or being inspected."""
        with _open_locked(self.path, os.O_RDWR) as fd:
            if fd is None or not self._owns(fd):
                return False
            data = self._data(now)
            os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
            return True

    def try_release(self) -> bool:
        """Remove the lock if it is ours; return False while another process inspects it."""
        with _open_locked(self.path, os.O_RDONLY) as fd:
            if fd is not None and self._owns(fd):
                self.path.unlink()
                return True
        return not self.is_ours()

    def _take_over(self, now: float) -> bool:
        with _open_locked(self.path, os.O_RDONLY) as fd:
            if fd is None or not _is_stale(fd, now):
                return False
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                with suppress(OSError):
                    self.path.rmdir()  # the next attempt creates our lock
                return False
            write_projection(self.path, self._data(now))
            return True

    def _owns(self, fd: int) -> bool:
        owner = _read(fd)
        return owner is not None and owner.token == self._token

    def _data(self, now: float) -> bytes:
        return msgspec.json.encode(
            Owner(os.getpid(), start_time_of(os.getpid()), host_id(), self._token, now)
        )


async def acquire(file: Path, clock: Clock, timeout_seconds: float = TIMEOUT_SECONDS) -> FileLock:
    """Wait for the lock; raise STATE_BUSY with the owner on timeout."""
    lock, deadline = FileLock(file), clock.monotonic() + timeout_seconds
    while not lock.try_acquire(clock.now()):
        if clock.monotonic() >= deadline:
            raise _busy(lock.path)
        await clock.sleep(_POLL_SECONDS)
    return lock


async def release(lock: FileLock, clock: Clock) -> None:
    """Release the lock; a lock that another process took over is left alone."""
    for _ in range(_RELEASE_TRIES):
        if lock.try_release():
            return
        await clock.sleep(_POLL_SECONDS)


@asynccontextmanager
async def hold_lock(
    file: Path, clock: Clock, timeout_seconds: float = TIMEOUT_SECONDS
) -> AsyncGenerator[FileLock]:
    """Hold the lock for the length of a block, with a heartbeat."""
    lock = await acquire(file, clock, timeout_seconds)
    heartbeat = asyncio.create_task(_send_heartbeats(lock, clock))
    try:
        yield lock
    finally:
        heartbeat.cancel()
        await asyncio.gather(heartbeat, return_exceptions=True)
        await release(lock, clock)


async def _send_heartbeats(lock: FileLock, clock: Clock) -> None:
    while True:
        await clock.sleep(_HEARTBEAT_SECONDS)
        with suppress(OSError):  # the next heartbeat retries; up to five may fail
            lock.write_heartbeat(clock.now())


def _is_stale(fd: int, now: float) -> bool:
    owner = _read(fd)
    if owner is None:
        return now - os.fstat(fd).st_mtime > _STALE_SECONDS
    if owner.host == host_id() and start_time_of(owner.pid) != owner.started:
        return True
    return now - owner.heartbeat > _STALE_SECONDS


def _read(fd: int) -> Owner | None:
    """Return the owner; None for a lock that another program made."""
    try:
        return msgspec.json.decode(os.pread(fd, _MAX_BYTES, 0), type=Owner)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):  # also raised for a directory or a pipe
        return None


def _busy(path: Path) -> OstlerError:
    with _open_lock_file(path, os.O_RDONLY) as fd:
        owner = None if fd is None else _read(fd)
    who = f"process {owner.pid} on {owner.host.partition(' ')[0]}" if owner else "another program"
    hint = f"wait for it; if no such program runs, remove {path}"
    return OstlerError(Code.STATE_BUSY, f"{path} is held by {who}", hint)


@contextmanager
def _open_lock_file(path: Path, flags: int) -> Generator[int | None]:
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError, IsADirectoryError):  # gone, or not ours
        yield None
        return
    except OSError as error:
        raise to_disk_error(path, error) from error
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _open_locked(path: Path, flags: int) -> Generator[int | None]:
    """Open the file with flock held; yield None when another process holds it or the path now names another
    file.
    """
    with _open_lock_file(path, flags) as fd:
        yield fd if fd is not None and _flock(fd) and _is_same_file(path, fd) else None


def _flock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_same_file(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False


@cache
def host_id() -> str:
    """Return an id of this machine and boot; two containers with one host name differ."""
    marks = [os.uname().nodename]
    with suppress(OSError):
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        marks.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(marks)


def start_time_of(pid: int) -> str:
    """Return the start time of a process; empty when it does not run."""
    return _start_time_from_proc(pid) if sys.platform == "linux" else _start_time_from_psutil(pid)


def _start_time_from_proc(pid: int) -> str:
    try:
        facts = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    state, *rest = facts.rpartition(")")[2].split()
    return "" if state in "ZX" else rest[18]  # a zombie holds no lock


def _start_time_from_psutil(pid: int) -> str:
    import psutil  # noqa: PLC0415  (30 ms that Linux need not spend)

    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else str(process.create_time())
    except psutil.Error:
        return ""
