"""A task that was found in a source and is not yet added."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.task import Task

_MAX_TITLE = 200


class FoundTask(Struct, frozen=True):
    task: Task  # with its source
    location: str  # file and line, or URL
    notes: tuple[str, ...] = ()
    skipped: bool = False  # already marked as done in the source


def with_short_title(task: Task) -> Task:
    """Return the task with a title of one short line; a long title also goes into the description."""
    title = " ".join(task.title.split())
    if len(title) <= _MAX_TITLE:
        return replace(task, title=title)
    cut = title[: _MAX_TITLE - 1]
    short = cut.rpartition(" ")[0] or cut
    return replace(task, title=f"{short}…", body=f"{title}\n\n{task.body}".rstrip())


def source_path(path: Path, root: Path) -> str:
    """Return the name of a file in a source: its path relative to the root."""
    real = path.resolve()
    return str(real.relative_to(root)) if real.is_relative_to(root) else str(real)


def digest_of(source: str) -> bytes:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()
