"""Which runs are at work on a project: a file each, locked for as long as its run lives."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.clock import rfc3339
from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir
from ostler.files.layout import Layout
from ostler.files.lock import Held, is_locked, try_lock


class Run(Struct, frozen=True):
    pid: int
    since: str


@contextmanager
def at_work(layout: Layout) -> Generator[None]:
    """Be seen by `runs_at_work` meanwhile; a disk that has no room for it stops no run."""
    path = layout.runs / f"{os.getpid()}-{os.urandom(4).hex()}"
    held = _appear(path)
    try:
        yield
    finally:
        if held is not None:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            held.release()


def runs_at_work(layout: Layout) -> list[Run]:
    """Those whose process lives at this moment, the oldest first."""
    found = [run for path in _names(layout.runs) if (run := _read(path)) and is_locked(path)]
    return sorted(found, key=lambda run: run.since)


def _appear(path: Path) -> Held | None:
    try:
        make_private_dir(path.parent)
        _forget_dead(path.parent)
        held = try_lock(path)
        if held is not None:
            os.write(held.fd, msgspec.json.encode(Run(os.getpid(), rfc3339(time.time()))))
    except (OstlerError, OSError):
        return None
    return held


def _forget_dead(folder: Path) -> None:
    """Only what was written: the file of a run that is about to lock it is still empty."""
    for path in _names(folder):
        if _read(path) and not is_locked(path):
            path.unlink(missing_ok=True)


def _names(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _read(path: Path) -> Run | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Run)
    except (OSError, msgspec.DecodeError):
        return None
