"""A checklist on disk: its open boxes are tasks, and a completed one is ticked."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.clock import Clock
from ostler.errors import UsageError
from ostler.files.beneath import read_beneath, write_beneath
from ostler.files.owner_lock import owned
from ostler.files.paths import resolve_beneath
from ostler.model.task import Task
from ostler.sources.checklist import Box, find_boxes, tick
from ostler.sources.found import Found, named, titled
from ostler.sources.origin import BoxOrigin

_LARGEST = 10 * 1024 * 1024


def read_checklist(path: Path, root: Path) -> list[Found]:
    """The tasks of a file's open boxes; raises when it has no box at all."""
    file = named(path, root)
    try:
        data = read_beneath(*_place(root, file), _LARGEST)
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None
    boxes = find_boxes(data)
    if not boxes:
        raise UsageError(f"{path} has no boxes", "write each task as: - [ ] what to do")
    return [_found(box, path, file) for box in boxes if box.is_open]


async def tick_box(origin: BoxOrigin, root: Path, clock: Clock) -> bool:
    """Tick the box; False when there is nothing to do, for it is ticked already, or gone."""
    folder, file = _place(root, origin.file)
    path = resolve_beneath(folder, file)
    if not _is_there(path):
        return False
    async with owned(path, clock) as lock:
        ticked = tick(read_beneath(folder, file, _LARGEST), origin.text, origin.number)
        if ticked is None:
            return False
        lock.require()
        write_beneath(folder, file, ticked)
    return True


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _found(box: Box, path: Path, file: str) -> Found:
    body = "\n\n".join(filter(None, (box.body, f"Part of: {box.within}" if box.within else "")))
    source = str(BoxOrigin(file, box.text, box.number))
    return Found(titled(Task(box.text, body, source=source)), f"{path}:{box.line}")


def _place(root: Path, file: str) -> tuple[Path, str]:
    """The directory that the file cannot be led out of, and its path there."""
    path = Path(file)
    return (path.parent, path.name) if path.is_absolute() else (root, file)
