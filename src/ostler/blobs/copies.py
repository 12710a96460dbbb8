"""Copies of files that other machines uploaded, for those who read them on this one."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from threading import Lock

import msgspec

from ostler.blobs.blobs import Blob, Blobs
from ostler.blobs.failure import BlobsUnavailable
from ostler.blobs.names import is_uploaded, name_files, scan
from ostler.blobs.parallel import run_for_each
from ostler.blobs.streams import replace_file
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.lock import try_lock
from ostler.model.ids import TaskId
from ostler.waits import report_wait

FRESH_SECONDS = 1.0  # a list that is not older is used again
_RETRY_SECONDS = 10.0  # after a failure, what is here is shown
_KEPT_SECONDS = 7 * 86400.0  # of a task that nobody reads
_INDEX = ".index.json"
_Index = dict[str, tuple[str, int]]  # base and size of each copy


class _Listed:
    """The files of one task as they were listed last."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.at = -1e9
        self.blobs: dict[str, Blob] = {}


class Copies:
    """The copies of one project, each task in a directory below `root`; can be used by any thread."""

    def __init__(self, blobs: Blobs, store_id: str, root: Path) -> None:
        self._blobs = blobs
        self._store_id = store_id
        self._root = root
        self._tasks: dict[TaskId, _Listed] = {}
        self._failed_at = -1e9
        self._delete_old()

    def list(self, task: TaskId) -> dict[str, Blob]:
        """Return the files of a task by their paths, at most a second old; of an outage, the last ones."""
        listed = self._tasks.setdefault(task, _Listed())
        with listed.lock:
            now = time.monotonic()
            if now - listed.at >= FRESH_SECONDS and now - self._failed_at >= _RETRY_SECONDS:
                self._list(task, listed)
            return listed.blobs

    def _list(self, task: TaskId, listed: _Listed) -> None:
        prefix = name_files(self._store_id, task)
        try:
            found = self._blobs.list(prefix)
        except BlobsUnavailable as error:
            self._note(error)
            return
        paths = ((blob.name.removeprefix(f"{prefix}/"), blob) for blob in found)
        listed.blobs = {path: blob for path, blob in paths if is_uploaded(path)}
        listed.at = time.monotonic()

    def find(self, task: TaskId, own: Path, patterns: Sequence[str]) -> Path:
        """Return a directory with the files that match: the task's own, or that of the copies.

        `own` is the task's directory on this machine; it is used unless other machines have more.
        """
        listed = self.list(task)
        wanted = {path: blob for path, blob in listed.items() if _matches(path, patterns)}
        here = {path: facts for path, facts in scan(own) if _matches(path, patterns)}
        if all(path in here and _is_current(path, here[path], blob) for path, blob in wanted.items()):
            if not listed:  # the task was purged, or is only here
                shutil.rmtree(self._root / task, ignore_errors=True)
            return own
        folder = self._root / task
        make_private_dir(folder)
        if time.monotonic() - self._failed_at < _RETRY_SECONDS:
            return folder
        # None: another process updates them now, and what it has is as new.
        lock = try_lock(folder / ".lock")
        if lock is not None:
            with lock:
                self._update(folder, wanted, {path: own / path for path in here})
        return folder

    def _update(self, folder: Path, wanted: dict[str, Blob], own: dict[str, Path]) -> None:
        index = _read_index(folder)
        before = dict(index)
        for path, source in own.items():
            if path not in wanted:  # it is not uploaded yet
                write_projection(_prepare(folder / path), source.read_bytes())
        try:
            run_for_each(partial(self._fetch, folder, index), [*wanted.items()])
        except BlobsUnavailable as error:
            self._note(error)
        if index != before:
            write_projection(folder / _INDEX, msgspec.json.encode(index))

    def _fetch(self, folder: Path, index: _Index, item: tuple[str, Blob]) -> None:
        path, blob = item
        copy = _prepare(folder / path)
        base, size = index.get(path, ("", -1))
        if size < 0 or base != blob.base or size > blob.size or _size(copy) != size:
            index.pop(path, None)
            replace_file(copy, self._blobs.read_blocks(blob.name))
            size = _size(copy)
        elif size < blob.size:
            size = _append(copy, size, self._blobs.read_blocks(blob.name, size))
        index[path] = (blob.base, size)

    def _note(self, error: BlobsUnavailable) -> None:
        """Print a failure once for each outage: files of other machines may be missing or old."""
        is_new = time.monotonic() - self._failed_at >= 2 * _RETRY_SECONDS
        self._failed_at = time.monotonic()
        if is_new:
            report_wait(f"{error.message}; files of other machines may be missing or incomplete")

    def _delete_old(self) -> None:
        for folder in self._root.iterdir() if self._root.is_dir() else ():
            if time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def _is_current(path: str, facts: os.stat_result, blob: Blob) -> bool:
    """Return whether a file of this machine has all of its blob."""
    if path.startswith("gates/") and facts.st_size > blob.size:
        # The next machine repeats a check that was interrupted, and writes its log from the beginning.
        return facts.st_mtime >= blob.modified
    return facts.st_size >= blob.size


def _read_index(folder: Path) -> _Index:
    try:
        return msgspec.json.decode((folder / _INDEX).read_bytes(), type=_Index)
    except (FileNotFoundError, msgspec.DecodeError):
        return {}


def _prepare(copy: Path) -> Path:
    if not copy.parent.is_dir():
        make_private_dir(copy.parent)
    return copy


def _size(copy: Path) -> int:
    try:
        return copy.stat().st_size
    except FileNotFoundError:
        return -1


def _append(copy: Path, size: int, blocks: Iterable[bytes]) -> int:
    with copy.open("r+b") as file:
        file.seek(size)
        for block in blocks:
            size += file.write(block)
    return size
