"""A task that was found somewhere, before anyone has added it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.task import Task

_LONGEST_TITLE = 200


class Found(Struct, frozen=True):
    task: Task  # with its source
    where: str  # the file and line, or the address, for who has to look there
    notes: tuple[str, ...] = ()
    skipped: bool = False  # it says itself that it is done


def titled(task: Task) -> Task:
    """The task with a title of one short line; the whole of it then stands in the description, too."""
    title = " ".join(task.title.split())
    if len(title) <= _LONGEST_TITLE:
        return replace(task, title=title)
    cut = title[: _LONGEST_TITLE - 1]
    short = cut.rpartition(" ")[0] or cut
    return replace(task, title=f"{short}…", body=f"{title}\n\n{task.body}".rstrip())


def named(path: Path, root: Path) -> str:
    """How a file is called in a source: by its path below the root, wherever it is called from."""
    real = path.resolve()
    return str(real.relative_to(root)) if real.is_relative_to(root) else str(real)


def digest_of(source: str) -> bytes:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()
