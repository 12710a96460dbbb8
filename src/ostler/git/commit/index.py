"""The index of a worktree: private copies, validation and repair."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ostler.git.repository import Repository, Worktree
from ostler.git.run.command import run_git


@contextmanager
def private_index(worktree: Worktree) -> Generator[Path]:
    """Yield a copy of the worktree's index, on the same file system so that it can replace the original."""
    original = worktree.repository.git_dir / "index"
    with TemporaryDirectory(prefix="ostler-", dir=original.parent) as directory:
        index = Path(directory) / "index"
        if is_valid_index(original):
            # Copy the modification time too: git compares it with the files to detect writes in the same
            # tick.
            shutil.copy2(original, index)
        else:
            rebuild_index(worktree, index)
        yield index


def rebuild_index(worktree: Worktree, index: Path) -> None:
    """Write the index of the task's branch."""
    index.unlink(missing_ok=True)
    run_git(worktree.repository, "read-tree", worktree.ref, env=index_environment(index))


def count_files(repository: Repository) -> int:
    """Return the number of files in the index, read from its header; 0 if that fails."""
    try:
        with (repository.git_dir / "index").open("rb") as file:
            header = file.read(12)
    except OSError:
        return 0
    return int.from_bytes(header[8:12], "big") if header[:4] == b"DIRC" else 0


def index_environment(index: Path) -> dict[str, str]:
    """Return the environment that makes git use this index."""
    return {"GIT_INDEX_FILE": str(index)}


def is_valid_index(index: Path) -> bool:
    """Return whether the index is complete; git accepts a truncated one without an error."""
    if not index.is_file() or index.is_symlink():
        return False
    content = index.read_bytes()
    return any(_ends_with_its_hash(content, kind) for kind in ("sha1", "sha256"))


def _ends_with_its_hash(content: bytes, kind: str) -> bool:
    digest = hashlib.new(kind, usedforsecurity=False)
    body, end = content[: -digest.digest_size], content[-digest.digest_size :]
    digest.update(body)
    return end in (digest.digest(), bytes(digest.digest_size))  # zeros: index.skipHash
