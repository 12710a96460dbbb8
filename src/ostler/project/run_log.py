"""The logs of detached runs: a file each, locked for as long as its run lives."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ostler.files.layout import Layout
from ostler.files.lock import Held, is_locked, try_lock


class RunLog(Struct, frozen=True):
    path: Path
    held: Held  # shared by whoever has its descriptor for an output


def open_log(layout: Layout) -> RunLog:
    """A new one, for nobody else's eyes."""
    path = layout.state / f"run-{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(4).hex()}.log"
    held = try_lock(path)
    assert held is not None, "nobody else knows its name"
    return RunLog(path, held)


def drop_logs(layout: Layout) -> list[Path]:
    """Delete those of runs that have ended; which they were."""
    return [path for path in sorted(layout.state.glob("run-*.log")) if _is_over(path) and _delete(path)]


def _is_over(path: Path) -> bool:
    """An empty one may be that of a run which is about to begin."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size > 0 and not is_locked(path)


def _delete(path: Path) -> bool:
    with suppress(FileNotFoundError):
        path.unlink()
        return True
    return False
