"""Paths in a worktree that are no work: put there for the agent, and never committed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ostler.files.atomic import write_projection
from ostler.git.command import LONG_SECONDS, run
from ostler.git.failure import with_git_errors
from ostler.git.repository import Repository

_SPECIAL = re.compile(r"([\\*?\[\]!# ])")
_UNTRACKED = ("ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory")


def exclude_file(repository: Repository) -> Path:
    """Of this worktree alone. Git itself reads only the repository's; pending.py reads this one as well."""
    return repository.git_dir / "info" / "exclude"


def placed_file(repository: Repository) -> Path:
    """Those of them that were put there as they are: no commit has them, even if an agent adds all files."""
    return repository.git_dir / "info" / "ostler-placed"


def pattern_of(path: str) -> str:
    """The line that names this path, below the worktree; a line break in it can only be any character."""
    return "/" + _SPECIAL.sub(r"\\\1", path).replace("\n", "?")


def write_exclude(repository: Repository, placed: tuple[str, ...], made: tuple[str, ...] = ()) -> None:
    """Let these paths, and no others, be passed over by every later look at the worktree."""
    exclude_file(repository).parent.mkdir(exist_ok=True)
    write_projection(placed_file(repository), _lines(placed))
    write_projection(exclude_file(repository), _lines((*placed, *made)))


def _lines(paths: tuple[str, ...]) -> bytes:
    return b"".join(os.fsencode(pattern_of(path)) + b"\n" for path in paths)


@with_git_errors
def list_untracked(repository: Repository) -> tuple[str, ...]:
    """What is neither in the index nor ignored; a directory without anything else by its own name."""
    ours = [f"--exclude-from={file}"] if (file := exclude_file(repository)).is_file() else []
    answer = run(repository, *_UNTRACKED, "--exclude=.ostler/", *ours, timeout_seconds=LONG_SECONDS).stdout
    return tuple(os.fsdecode(name) for name in answer.split(b"\0")[:-1])


def list_placed(
    repository: Repository, base: str, env: Mapping[str, str], patterns: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """What an index has of the things put there, and the commit that the work starts from has not."""
    also = [f"--exclude-from={file}"] if (file := placed_file(repository)).is_file() else []
    also += [f"--exclude={pattern}" for pattern in patterns]
    if not also:
        return ()
    found = run(repository, "ls-files", "-z", "--cached", "--ignored", *also, env=env).stdout.split(b"\0")[
        :-1
    ]
    if not found:
        return ()
    before = run(repository, "ls-tree", "-r", "-z", "--name-only", "--full-tree", base).stdout.split(b"\0")
    return tuple(os.fsdecode(name) for name in sorted(set(found) - set(before)))
