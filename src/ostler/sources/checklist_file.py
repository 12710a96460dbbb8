"""A checklist file: open boxes are tasks, and boxes of completed tasks are ticked."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.clock import Clock
from ostler.errors import OstlerError, UsageError
from ostler.files.beneath import read_beneath, write_beneath
from ostler.files.file_lock import hold_lock
from ostler.files.paths import resolve_beneath
from ostler.model.task import Task
from ostler.sources.checklist import Box, find_boxes, tick_box_in
from ostler.sources.found import FoundTask, source_path, with_short_title
from ostler.sources.origin import BoxOrigin

_MAX_BYTES = 10 * 1024 * 1024


def read_checklist(path: Path, root: Path) -> list[FoundTask]:
    """Return the tasks of a file's open boxes; raise UsageError when it has no boxes."""
    file = source_path(path, root)
    try:
        data = read_beneath(*_split_path(root, file), _MAX_BYTES)
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None
    except OstlerError as error:
        raise UsageError(error.message, error.hint) from None
    boxes = find_boxes(data)
    if not boxes:
        raise UsageError(f"{path} has no boxes", "write each task as: - [ ] what to do")
    return [_found(box, path, file) for box in boxes if box.is_open]


async def tick_box(origin: BoxOrigin, root: Path, clock: Clock) -> bool:
    """Tick the box; return False when it is already ticked or missing."""
    folder, file = _split_path(root, origin.file)
    path = resolve_beneath(folder, file)
    if not _is_there(path):
        return False
    async with hold_lock(path, clock) as lock:
        ticked = tick_box_in(read_beneath(folder, file, _MAX_BYTES), origin.text, origin.number)
        if ticked is None:
            return False
        lock.require_ours()
        write_beneath(folder, file, ticked)
    return True


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _found(box: Box, path: Path, file: str) -> FoundTask:
    body = "\n\n".join(filter(None, (box.body, f"Part of: {box.within}" if box.within else "")))
    source = str(BoxOrigin(file, box.text, box.number))
    return FoundTask(with_short_title(Task(box.text, body, source=source)), f"{path}:{box.line}")


def _split_path(root: Path, file: str) -> tuple[Path, str]:
    """Return the directory that contains the file, and its path in there."""
    path = Path(file)
    return (path.parent, path.name) if path.is_absolute() else (root, file)
