"""The files of a project, as far as a model may look at them: plain ones below the root, and no secrets."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.beneath import read_beneath
from ostler.files.paths import open_beneath, parts_beneath

_MOST_ENTRIES = 20_000
_DEEPEST = 40  # each level is held open, and others need descriptors, too
_LARGEST_FILE = 1 << 20
_CLOSED = frozenset({".git", ".ostler"})
_UNINTERESTING = frozenset({"node_modules", ".venv", "__pycache__"})  # as long as nobody names them


class Project(Struct, frozen=True):
    """Where to look, and whether someone still waits for what is found."""

    root: Path
    unwanted: threading.Event

    def lines(self, path: str) -> list[str]:
        """The lines of a text file, with their ends. Raises OstlerError for anything else."""
        data = read_beneath(self.root, _open_to_all(path), _LARGEST_FILE)
        _open_to_all(self._behind_links(path))
        if b"\0" in data:
            raise OstlerError(Code.INPUT_NOT_FOUND, f"{path} is not a text file")
        return data.decode("utf-8-sig", "replace").splitlines(keepends=True)

    def _behind_links(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(self.root / path), os.path.realpath(self.root))

    def files(self, path: str = ".") -> Iterator[str]:
        """The file of that path, or the files below it in order, as paths from the root."""
        top = _open_to_all(path)
        with _opened(self.root, top) as fd:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                yield top
                return
            for here, name, at in islice(_walk(fd), _MOST_ENTRIES):
                if self.unwanted.is_set():
                    return
                if _is_plain(name, at):
                    yield str(PurePosixPath(top, here, name))


def _walk(top: int) -> Iterator[tuple[str, str, int]]:
    """Every entry that is shown: the directory, the name, the open directory. No link is followed."""
    for here, folders, names, at in os.fwalk(".", dir_fd=top):
        inner = (name for name in folders if name not in _UNINTERESTING and not _is_closed(name))
        folders[:] = sorted(inner) if here.count("/") < _DEEPEST else []
        for name in (*folders, *sorted(names)):
            if not _is_closed(name):
                yield here, name, at


@contextmanager
def _opened(root: Path, path: str) -> Generator[int]:
    way_in = os.O_RDONLY | os.O_CLOEXEC
    fd = os.open(root, way_in | os.O_DIRECTORY) if path == "." else open_beneath(root, path, way_in)
    try:
        yield fd
    finally:
        os.close(fd)


def _is_plain(name: str, directory: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except OSError:
        return False  # it is gone


def _open_to_all(path: str) -> str:
    """The path in its plain spelling. Raises PathEscape when it leads outside, or to what is not shown."""
    if path.strip() in ("", ".", "./"):
        return "."
    parts = parts_beneath(path)
    if any(_is_closed(part) for part in parts):
        raise PathEscape(f"{path!r} is not shown to models")
    return "/".join(parts)


def _is_closed(name: str) -> bool:
    """Git's directory and ours, and files of the kind that hold keys."""
    name = name.casefold()
    return name in _CLOSED or name == ".env" or name.startswith(".env.")
