"""Large files that a commit only points to (git-lfs), taken from where the project keeps them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.files.paths import open_beneath

_LONGEST_POINTER = 1024
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n")


def fill_in(work_tree: Path, name: str, common_dir: Path) -> None:
    """Put the content in place of the pointer; LFS_UNAVAILABLE when it was never fetched or is damaged."""
    oid = _read_pointer(work_tree, name)
    if oid is None:
        return
    stored = common_dir / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    place = work_tree / name
    mode = stat.S_IMODE(place.lstat().st_mode)
    if not stored.is_file() or stored.is_symlink():
        raise GitError(Code.LFS_UNAVAILABLE, f"{name} is not in the large files of {common_dir}", _HINT)
    place.unlink()
    shutil.copyfile(stored, place, follow_symlinks=False)
    place.chmod(mode)
    with place.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != oid:
            raise GitError(Code.LFS_UNAVAILABLE, f"{stored} is damaged", _HINT)


_HINT = "git lfs fetch --all brings it"


def _read_pointer(work_tree: Path, name: str) -> str | None:
    """What a small plain file points to; None for anything else."""
    if (work_tree / name).is_symlink() or not (work_tree / name).is_file():
        return None
    with os.fdopen(open_beneath(work_tree, name, os.O_RDONLY), "rb") as file:
        found = _POINTER.match(file.read(_LONGEST_POINTER))
    return found[1].decode() if found else None
