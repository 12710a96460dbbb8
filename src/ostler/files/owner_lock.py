"""A lock for a file that other programs touch as well: FILE.lock says who owns it, and that they still live.

Whoever of us removes or replaces FILE.lock holds the kernel's lock on that very file (flock, and the name
still leads to it). So of two that take over from a dead owner one wins, and nobody removes another's lock.
A FILE.lock of a stranger, file or directory, is respected until it is 60 s old.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import msgspec

from ostler.clock import Clock
from ostler.errors import Code, OstlerError
from ostler.files.atomic import create_once, write_projection
from ostler.files.disk import disk_error
from ostler.files.living import birth_of, this_host

TIMEOUT_SECONDS = 5.0
_POLL_SECONDS = 0.05
_BEAT_SECONDS = 10.0
_STALE_SECONDS = 60.0
_RELEASE_TRIES = 100
_LARGEST = 4096


class Owner(msgspec.Struct, frozen=True):
    """What stands in FILE.lock."""

    pid: int
    started: str  # tells the process from a later one of the same number
    host: str
    token: str  # of this one holding
    heartbeat: float  # seconds since the epoch


class OwnerLock:
    """The lock of one file, as long as its FILE.lock has our token in it."""

    def __init__(self, file: Path) -> None:
        self.path = file.with_name(f"{file.name}.lock")
        self._token = os.urandom(16).hex()

    def take(self, now: float) -> bool:
        """Take what is free or stale; False while someone owns it."""
        if os.path.lexists(self.path):
            return self._take_over(now)
        return create_once(self.path, self._data(now), durable=False)

    def is_ours(self) -> bool:
        """Whether it still is: who was silent for too long may have lost it."""
        with _opened(self.path, os.O_RDONLY) as fd:
            return fd is not None and self._owns(fd)

    def require(self) -> None:
        """Raise CONFLICT when it was lost; ask before writing what the lock protects."""
        if not self.is_ours():
            message = f"{self.path} was taken over by another program"
            raise OstlerError(Code.CONFLICT, message, "run it again")

    def beat(self, now: float) -> bool:
        """Say that the owner lives; False when nothing was written, for it is lost or being looked at."""
        with _seized(self.path, os.O_RDWR) as fd:
            if fd is None or not self._owns(fd):
                return False
            data = self._data(now)
            os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
            return True

    def give_back(self) -> bool:
        """Remove it if it is ours; False when someone looks at it in this moment."""
        with _seized(self.path, os.O_RDONLY) as fd:
            if fd is not None and self._owns(fd):
                self.path.unlink()
                return True
        return not self.is_ours()

    def _take_over(self, now: float) -> bool:
        with _seized(self.path, os.O_RDONLY) as fd:
            if fd is None or not _is_stale(fd, now):
                return False
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                with suppress(OSError):
                    self.path.rmdir()  # the next try makes ours
                return False
            write_projection(self.path, self._data(now))
            return True

    def _owns(self, fd: int) -> bool:
        owner = _read(fd)
        return owner is not None and owner.token == self._token

    def _data(self, now: float) -> bytes:
        return msgspec.json.encode(Owner(os.getpid(), birth_of(os.getpid()), this_host(), self._token, now))


async def acquire(file: Path, clock: Clock, timeout_seconds: float = TIMEOUT_SECONDS) -> OwnerLock:
    """The lock of the file, once it is free; STATE_BUSY, naming the owner, when it is not in time."""
    lock, deadline = OwnerLock(file), clock.monotonic() + timeout_seconds
    while not lock.take(clock.now()):
        if clock.monotonic() >= deadline:
            raise _busy(lock.path)
        await clock.sleep(_POLL_SECONDS)
    return lock


async def release(lock: OwnerLock, clock: Clock) -> None:
    """Give it back; one that was lost to another stays that other's."""
    for _ in range(_RELEASE_TRIES):
        if lock.give_back():
            return
        await clock.sleep(_POLL_SECONDS)


@asynccontextmanager
async def owned(
    file: Path, clock: Clock, timeout_seconds: float = TIMEOUT_SECONDS
) -> AsyncGenerator[OwnerLock]:
    """Own the file's lock for the length of a block, with a heartbeat all the while."""
    lock = await acquire(file, clock, timeout_seconds)
    heart = asyncio.create_task(_keep_beating(lock, clock))
    try:
        yield lock
    finally:
        heart.cancel()
        await asyncio.gather(heart, return_exceptions=True)
        await release(lock, clock)


async def _keep_beating(lock: OwnerLock, clock: Clock) -> None:
    while True:
        await clock.sleep(_BEAT_SECONDS)
        with suppress(OSError):  # the next beat tries again, and five may fail
            lock.beat(clock.now())


def _is_stale(fd: int, now: float) -> bool:
    owner = _read(fd)
    if owner is None:
        return now - os.fstat(fd).st_mtime > _STALE_SECONDS
    if owner.host == this_host() and birth_of(owner.pid) != owner.started:
        return True
    return now - owner.heartbeat > _STALE_SECONDS


def _read(fd: int) -> Owner | None:
    """Who owns it; None for a lock that a stranger made."""
    try:
        return msgspec.json.decode(os.pread(fd, _LARGEST, 0), type=Owner)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):  # a directory or a pipe, too
        return None


def _busy(path: Path) -> OstlerError:
    with _opened(path, os.O_RDONLY) as fd:
        owner = None if fd is None else _read(fd)
    who = f"process {owner.pid} on {owner.host.partition(' ')[0]}" if owner else "another program"
    hint = f"wait for it; if no such program runs, remove {path}"
    return OstlerError(Code.STATE_BUSY, f"{path} is held by {who}", hint)


@contextmanager
def _opened(path: Path, flags: int) -> Generator[int | None]:
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError, IsADirectoryError):  # gone, or a stranger's
        yield None
        return
    except OSError as error:
        raise disk_error(path, error) from error
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _seized(path: Path, flags: int) -> Generator[int | None]:
    """The file with the kernel's lock on it; None when another has that, or the name leads elsewhere now."""
    with _opened(path, flags) as fd:
        yield fd if fd is not None and _flock(fd) and _is_at(path, fd) else None


def _flock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False
