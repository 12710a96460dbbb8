"""The files in a task's directory: prompts, transcripts, gate outputs (ostler.files/1)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from ostler.files.paths import open_beneath

_MOST_FILES = 5000


class FileView(Struct, frozen=True):
    path: str  # relative to the task's directory
    size: int


class FilesView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.files/1"
    files: tuple[FileView, ...]


def list_files(root: Path) -> FilesView:
    """Return the files below the directory, sorted by path; links are left out."""
    found = sorted(_walk(root, root), key=lambda file: file.path)
    return FilesView(files=tuple(found[:_MOST_FILES]))


def open_file(root: Path, relative: str) -> BinaryIO | None:
    """Open a regular file below the directory; None if there is none, or if the path leads outside."""
    try:
        fd = open_beneath(root, relative, os.O_RDONLY)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    return os.fdopen(fd, "rb", 0)


def _walk(root: Path, folder: Path) -> Iterator[FileView]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, PermissionError):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(root, Path(entry.path))
        elif entry.is_file(follow_symlinks=False):
            path = Path(entry.path).relative_to(root)
            yield FileView(path.as_posix(), entry.stat(follow_symlinks=False).st_size)
