"""Flushes the file systems in which programs wrote without a flush of their own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from ostler.files.atomic import sync_filesystem
from ostler.files.disk import to_disk_error


class _SharedFlush:
    """Flushes one file system; requests that arrive during a flush share the next one."""

    def __init__(self) -> None:
        self._running = Lock()
        self._numbers = Lock()
        self._started = 0
        self._finished = 0

    def flush(self, place: Path) -> None:
        with self._numbers:
            wanted = self._started + 1  # one that has started may have passed the files of this request
        with self._running:
            if self._finished >= wanted:
                return
            with self._numbers:
                self._started += 1
            sync_filesystem(place)
            self._finished = self._started


_flushes: dict[int, _SharedFlush] = {}  # by device


def flush_filesystems(places: Iterable[Path]) -> None:
    """Flush the file systems of these directories, each once for all that ask at the same time."""
    for device, place in {_read_device(place): place for place in places}.items():
        _flushes.setdefault(device, _SharedFlush()).flush(place)


def _read_device(place: Path) -> int:
    try:
        return place.stat().st_dev
    except OSError as error:
        raise to_disk_error(place, error) from error
