"""Large files that git-lfs stored inside the sandbox: the user's repository needs them for a push."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from ostler.git.private.quarantine import MAX_BYTES
from ostler.git.private.untrusted import TooLarge, open_untrusted, walk_untrusted
from ostler.git.repository import Repository

_STORE = "lfs/objects"
_MAX_FILES = 100_000
_PART_BYTES = 1 << 20


def import_large_files(git_dir: Path, repository: Repository) -> None:
    """Copy each file whose content has the hash in its name; others are left out. Raises TooLarge."""
    left = MAX_BYTES
    for name in walk_untrusted(git_dir, _STORE, max_depth=3, max_entries=_MAX_FILES):
        target = repository.common_dir / name
        if _is_valid_name(name) and not os.path.lexists(target):
            left -= _copy(git_dir, name, target, left)


def _is_valid_name(name: str) -> bool:
    found = re.fullmatch(rf"{_STORE}/([0-9a-f]{{2}})/([0-9a-f]{{2}})/([0-9a-f]{{64}})", name)
    return found is not None and found[3].startswith(found[1] + found[2])


def _copy(git_dir: Path, name: str, target: Path, limit: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"tmp-ostler-{os.getpid()}")
    try:
        with open_untrusted(git_dir, name) as source:
            size = os.fstat(source).st_size
            if size > limit:
                raise TooLarge(f"{name} exceeds the limit of {MAX_BYTES >> 20} MB for large files")
            if _write(source, temporary) == target.name:
                temporary.replace(target)
            return size
    except OSError:
        return 0
    finally:
        temporary.unlink(missing_ok=True)


def _write(source: int, target: Path) -> str:
    """Copy an open file; return the hash of its content."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        while part := os.read(source, _PART_BYTES):
            digest.update(part)
            file.write(part)
    return digest.hexdigest()
