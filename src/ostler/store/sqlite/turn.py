"""A turn as a lock on a file of this machine."""

from __future__ import annotations

from pathlib import Path

from ostler.files.lock import LockHandle, is_locked, try_lock


class FileTurn:
    """A Turn that the kernel ends with its process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: LockHandle | None = None

    def take(self) -> bool:
        if self._held is None:
            self._held = try_lock(self._path, retry=False)
        return self._held is not None

    def is_taken(self) -> bool:
        return self._held is not None or is_locked(self._path)

    def release(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None
