"""A worktree's index: copied to work on, and made anew when it is damaged."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ostler.git.command import run
from ostler.git.repository import Repository, Worktree


@contextmanager
def private_index(worktree: Worktree) -> Generator[Path]:
    """A copy of the worktree's index to work on, in the same place so that it can be renamed over it."""
    original = worktree.repository.git_dir / "index"
    with TemporaryDirectory(prefix="ostler-", dir=original.parent) as directory:
        index = Path(directory) / "index"
        if is_sound(original):
            # With its time, which git compares with the files' to find a write in the same tick.
            shutil.copy2(original, index)
        else:
            rebuild(worktree, index)
        yield index


def rebuild(worktree: Worktree, index: Path) -> None:
    """Write the index that the task's branch has."""
    index.unlink(missing_ok=True)
    run(worktree.repository, "read-tree", worktree.ref, env=using(index))


def count_files(repository: Repository) -> int:
    """How many files its index has, from the header alone; 0 where that is not to be read."""
    try:
        with (repository.git_dir / "index").open("rb") as file:
            header = file.read(12)
    except OSError:
        return 0
    return int.from_bytes(header[8:12], "big") if header[:4] == b"DIRC" else 0


def using(index: Path) -> dict[str, str]:
    """What makes git work on this index."""
    return {"GIT_INDEX_FILE": str(index)}


def is_sound(index: Path) -> bool:
    """Whether a file is an index to its last byte; git reads the start of a torn one and believes it."""
    if not index.is_file() or index.is_symlink():
        return False
    content = index.read_bytes()
    return any(_ends_with_its_hash(content, kind) for kind in ("sha1", "sha256"))


def _ends_with_its_hash(content: bytes, kind: str) -> bool:
    digest = hashlib.new(kind, usedforsecurity=False)
    body, end = content[: -digest.digest_size], content[-digest.digest_size :]
    digest.update(body)
    return end in (digest.digest(), bytes(digest.digest_size))  # zeros: index.skipHash
