"""Lists the files of a skill's directory and computes their digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_ISLNK, S_ISREG

from ostler.errors import Code, OstlerError
from ostler.text import describe_os_error, to_printable

# Created by programs on each machine.
_IGNORED = {".git", "__pycache__", ".DS_Store"}
_OPEN = (
    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)  # non-blocking: opening a FIFO must not block


def list_files(folder: Path, on_error: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """Yield the relative paths of all files in a fixed order; links are not followed.

    A directory that cannot be read is raised, unless `on_error` handles it.
    """
    found: list[str] = []
    for folder_path, folders, names in os.walk(folder, onerror=on_error or _refuse):
        links = [name for name in folders if Path(folder_path, name).is_symlink()]
        folders[:] = [name for name in folders if name not in _IGNORED and name not in links]
        kept = (name for name in (*names, *links) if name not in _IGNORED)
        found += [Path(folder_path, name).relative_to(folder).as_posix() for name in kept]
    yield from sorted(found, key=os.fsencode)


def compute_digest(folder: Path) -> str:
    """Return the sha256 of the names and contents of all files; of a link, its target path."""
    digest = hashlib.sha256()
    for name in list_files(folder):
        try:
            kind, content = _read_content(folder / name)
        except OSError as error:
            raise _unreadable(folder / name, error) from None
        digest.update(b"%s %s\0%s\n" % (kind, os.fsencode(name), content))
    return digest.hexdigest()


def _read_content(path: Path) -> tuple[bytes, bytes]:
    mode = path.lstat().st_mode
    if S_ISLNK(mode):
        return b"link", os.fsencode(path.readlink())
    if not S_ISREG(mode):
        return b"other", b""
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        return b"file", hashlib.file_digest(file, "sha256").hexdigest().encode()


def _refuse(error: OSError) -> None:
    raise _unreadable(Path(str(error.filename)), error)


def _unreadable(path: Path, error: OSError) -> OstlerError:
    return OstlerError(
        Code.CONFIG_INVALID, f"{to_printable(str(path))} cannot be read: {describe_os_error(error)}"
    )
