"""Active runs of a project and logs of detached runs: one file each, locked while the run is active."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir
from ostler.files.layout import Layout
from ostler.files.lock import LockHandle, is_locked, try_lock


class ActiveRun(Struct, frozen=True):
    pid: int
    since: str


@contextmanager
def register_run(layout: Layout) -> Generator[None]:
    """Make this run visible to `list_active_runs`; a full disk does not stop the run."""
    path = layout.runs / f"{os.getpid()}-{os.urandom(4).hex()}"
    held = _write_run_file(path)
    try:
        yield
    finally:
        if held is not None:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            held.release()


def list_active_runs(layout: Layout) -> list[ActiveRun]:
    """Return the runs whose process is alive, oldest first."""
    found = [run for path in _list_files(layout.runs) if (run := _read_run(path)) and is_locked(path)]
    return sorted(found, key=lambda run: run.since)


def _write_run_file(path: Path) -> LockHandle | None:
    try:
        make_private_dir(path.parent)
        _delete_ended(path.parent)
        held = try_lock(path)
        if held is not None:
            os.write(held.fd, msgspec.json.encode(ActiveRun(os.getpid(), format_rfc3339(time.time()))))
    except (OstlerError, OSError):
        return None
    return held


def _delete_ended(folder: Path) -> None:
    """Delete only files with content: the file of a run that is about to lock it is still empty."""
    for path in _list_files(folder):
        if _read_run(path) and not is_locked(path):
            path.unlink(missing_ok=True)


def _list_files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _read_run(path: Path) -> ActiveRun | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ActiveRun)
    except (OSError, msgspec.DecodeError):
        return None


class RunLog(Struct, frozen=True):
    path: Path
    held: LockHandle  # inherited by the process that writes the log


def create_log(layout: Layout) -> RunLog:
    """Create a private log file for a detached run."""
    path = layout.view / f"run-{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(4).hex()}.log"
    held = try_lock(path)
    assert held is not None, "the name is random"
    return RunLog(path, held)


def delete_ended_logs(layout: Layout) -> list[Path]:
    """Delete the logs of ended runs and return their paths."""
    return [path for path in sorted(layout.view.glob("run-*.log")) if _has_ended(path) and _delete(path)]


def _has_ended(path: Path) -> bool:
    """An empty log may belong to a run that is about to start."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size > 0 and not is_locked(path)


def _delete(path: Path) -> bool:
    with suppress(FileNotFoundError):
        path.unlink()
        return True
    return False
