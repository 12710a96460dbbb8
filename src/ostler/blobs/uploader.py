"""Uploads the files of one task: whole once, and then what was appended to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ostler.blobs.blobs import Blob, Blobs
from ostler.blobs.names import is_uploaded, scan
from ostler.blobs.parallel import run_for_each
from ostler.blobs.streams import begins_with, replace_file
from ostler.files.atomic import make_private_dir

PART_BYTES = 256 * 1024
PART_SECONDS = 1.0  # a file that grows is uploaded so often, or when it has grown by PART_BYTES
_UNKNOWN = -1  # the size of a blob with other content than the file
_MOST_OPEN = 20  # files that are kept open though they do not grow
_MOST_PARTS = 500  # then they are merged, so that a list stays short
_RAW = (".jsonl", ".stderr")
_BLOCK_BYTES = 8 << 20
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class _Copy:
    """What the blob of one file contains."""

    def __init__(self, size: int, mtime_ns: int, parts: int, descriptor: int = -1) -> None:
        self.size = size
        self.mtime_ns = mtime_ns
        self.parts = parts
        self.descriptor = (
            descriptor  # keeps the inode from being used for another file of this name; -1: none
        )

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class TaskUploader:
    """The files of one task; several threads can upload different ones. Raises BlobsUnavailable."""

    def __init__(self, blobs: Blobs, prefix: str, folder: Path) -> None:
        self._blobs = blobs
        self._prefix = prefix
        self._folder = folder
        self._copies: dict[str, _Copy] = {}
        self._changed_at: dict[str, float] = {}  # when a change was first seen that is not uploaded

    def compare(self, *, download: bool) -> None:
        """Find out which files are uploaded already; download those that another machine changed later.

        The raw output of agents stays where it is: it is large, and no step reads it.
        """
        found = {blob.name.removeprefix(f"{self._prefix}/"): blob for blob in self._blobs.list(self._prefix)}
        # A task with many attempts has many small files, and the next step waits for them.
        run_for_each(partial(self._compare, download), [one for one in found.items() if is_uploaded(one[0])])

    def _compare(self, download: bool, item: tuple[str, Blob]) -> None:
        name, blob = item
        path, at = self._folder / name, round(blob.modified * 1e6)
        try:
            here = path.lstat()
        except FileNotFoundError:
            here = None
        is_older = here is None or self._is_older(path, here, blob)
        if is_older and download and not name.endswith(_RAW):
            make_private_dir(path.parent)
            replace_file(path, self._blobs.read_blocks(blob.name))
            os.utime(path, ns=(at * 1000, at * 1000))
            here = path.lstat()
        if here is None:
            return
        # A file of the same size that was not changed after the upload is the one that was uploaded.
        is_same = here.st_size == blob.size and here.st_mtime_ns // 1000 <= at
        size = here.st_size if is_same or is_older else _UNKNOWN
        self._copies[name] = _Copy(size, here.st_mtime_ns, 0 if is_older and not is_same else blob.parts)

    def _is_older(self, path: Path, here: os.stat_result, blob: Blob) -> bool:
        """Return whether another machine changed the file after this one.

        A file that grew while it was uploaded is older than its blob, and has what the blob lacks.
        """
        if here.st_size == blob.size or here.st_mtime_ns // 1000 >= round(blob.modified * 1e6):
            return False
        if here.st_size < blob.size:
            return True
        # The raw output of one attempt is written by one machine, and only grows.
        return not path.name.endswith(_RAW) and not begins_with(path, self._blobs.read_blocks(blob.name))

    def find_changed(self, now: float, *, due: bool = False) -> list[str]:
        """Return the files that changed since their upload; with `due`, those that can wait no more."""
        found: list[str] = []
        for name, facts in scan(self._folder):
            copy = self._copies.get(name)
            if copy is not None and (copy.size, copy.mtime_ns) == (facts.st_size, facts.st_mtime_ns):
                self._changed_at.pop(name, None)
                continue
            grown = facts.st_size - (copy.size if copy else 0)
            waited = now - self._changed_at.setdefault(name, now)
            if not due or grown >= PART_BYTES or waited >= PART_SECONDS:
                found.append(name)
        self._close_idle()
        return found

    def _close_idle(self) -> None:
        """Release the files that did not grow for longest: a worker may have many tasks with hundreds."""
        idle = [
            copy
            for name, copy in self._copies.items()
            if copy.descriptor >= 0 and name not in self._changed_at
        ]
        for copy in sorted(idle, key=lambda copy: copy.mtime_ns)[:-_MOST_OPEN]:
            copy.close()

    def upload(self, name: str) -> None:
        """Upload a file, or what was appended to it; one that was deleted meanwhile is left out."""
        try:
            descriptor = os.open(self._folder / name, _OPEN)
        except OSError:
            return
        copy = self._copies.get(name)
        facts = os.fstat(descriptor)
        if copy is not None and _is_continued(copy, facts):
            os.close(descriptor)
            self._append(name, copy, facts)
            return
        if copy is not None:
            copy.close()
        try:
            if copy is not None and copy.parts:
                self._blobs.delete([self._name(name)])
            self._blobs.put(self._name(name), _read(descriptor, facts.st_size))
        except BaseException:
            os.close(descriptor)
            raise
        self._copies[name] = _Copy(facts.st_size, facts.st_mtime_ns, 0, descriptor)

    def _append(self, name: str, copy: _Copy, facts: os.stat_result) -> None:
        while copy.size < facts.st_size:
            data = os.pread(copy.descriptor, min(_BLOCK_BYTES, facts.st_size - copy.size), copy.size)
            if not data:  # it was truncated meanwhile
                return
            self._blobs.append(self._name(name), copy.size, data)
            copy.size += len(data)
            copy.parts += 1
        copy.mtime_ns = facts.st_mtime_ns
        if copy.parts >= _MOST_PARTS:
            self._merge(name, copy)

    def finish(self) -> None:
        """Merge the parts of each file into one blob, and release the files."""
        for name, copy in self._copies.items():
            if copy.parts:
                self._merge(name, copy)
        self.close()

    def close(self) -> None:
        """Release the files."""
        for copy in self._copies.values():
            copy.close()

    def _merge(self, name: str, copy: _Copy) -> None:
        if copy.descriptor < 0:
            copy.descriptor = os.open(self._folder / name, _OPEN)
        self._blobs.merge(self._name(name), _read(copy.descriptor, copy.size))
        copy.parts = 0

    def _name(self, name: str) -> str:
        return f"{self._prefix}/{name}"


def _is_continued(copy: _Copy, facts: os.stat_result) -> bool:
    """Return whether the file is the one that was uploaded, and has grown."""
    if copy.descriptor < 0 or facts.st_size <= copy.size:
        return False
    return os.path.samestat(os.fstat(copy.descriptor), facts)


def _read(descriptor: int, size: int) -> bytes | Iterator[bytes]:
    """Return the first bytes of a file; those of a large one in blocks."""
    return os.pread(descriptor, size, 0) if size <= _BLOCK_BYTES else _read_blocks(descriptor, size)


def _read_blocks(descriptor: int, size: int) -> Iterator[bytes]:
    for start in range(0, size, _BLOCK_BYTES):
        yield os.pread(descriptor, min(_BLOCK_BYTES, size - start), start)
