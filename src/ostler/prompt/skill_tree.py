"""All files of a skill's directory, and one sum over them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISLNK, S_ISREG

from ostler.errors import Code, OstlerError
from ostler.prompt.skill_place import shown

# Made by programs while the skill is used, and different on each machine.
_PASSING = {".git", "__pycache__", ".DS_Store"}
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # non-blocking: a FIFO must not hang us


def files_of(folder: Path) -> Iterator[str]:
    """The path of everything but directories, below the folder and in a fixed order; no link is followed."""
    found: list[str] = []
    for place, folders, names in os.walk(folder, onerror=_refuse):
        links = [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = [name for name in folders if name not in _PASSING and name not in links]
        kept = (name for name in (*names, *links) if name not in _PASSING)
        found += [Path(place, name).relative_to(folder).as_posix() for name in kept]
    yield from sorted(found, key=os.fsencode)


def digest_of(folder: Path) -> str:
    """The sha256 over the names and contents of all files; of a link its target, unread."""
    digest = hashlib.sha256()
    for name in files_of(folder):
        try:
            kind, content = _content(folder / name)
        except OSError as error:
            raise _unreadable(folder / name, error) from None
        digest.update(b"%s %s\0%s\n" % (kind, os.fsencode(name), content))
    return digest.hexdigest()


def _content(path: Path) -> tuple[bytes, bytes]:
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
    return OstlerError(Code.CONFIG_INVALID, f"{shown(str(path))} cannot be read: {error.strerror}")
