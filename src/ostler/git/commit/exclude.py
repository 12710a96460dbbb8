"""Paths that Ostler or a setup command put into a worktree and that are not committed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.files.atomic import write_projection
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.git.run.failure import with_git_errors

_SPECIAL = re.compile(r"([\\*?\[\]!# ])")
_ESCAPE = re.compile(rb"\\(.)")
_WILDCARD = re.compile(rb"^!|(?<!\\)[*?\[]")
_UNTRACKED = ("ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory")


def exclude_file(repository: Repository) -> Path:
    """Return the exclude file of this worktree; git reads only the repository's, pending.py reads both."""
    return repository.git_dir / "info" / "exclude"


def placed_file(repository: Repository) -> Path:
    """Return the list of paths that no commit may contain, even if an agent adds all files."""
    return repository.git_dir / "info" / "ostler-placed"


def to_exclude_pattern(path: str) -> str:
    """Return the exclude pattern of a path; a line break can only be matched by `?`."""
    return "/" + _SPECIAL.sub(r"\\\1", path).replace("\n", "?")


def write_exclude(repository: Repository, placed: tuple[str, ...], made: tuple[str, ...] = ()) -> None:
    """Replace the paths that are ignored in this worktree.

    Raises GIT_CORRUPT for a link, which a command can have put into the git directory of a checkout.
    """
    folder = exclude_file(repository).parent
    if repository.git_dir.is_symlink() or folder.is_symlink():
        raise GitError(Code.GIT_CORRUPT, f"{folder} is a symbolic link", "replace it by a directory")
    folder.mkdir(exist_ok=True)
    write_projection(placed_file(repository), _encode_patterns(placed))
    write_projection(exclude_file(repository), _encode_patterns((*placed, *made)))


def _encode_patterns(paths: tuple[str, ...]) -> bytes:
    return b"".join(os.fsencode(to_exclude_pattern(path)) + b"\n" for path in paths)


@with_git_errors
def list_untracked(repository: Repository) -> tuple[str, ...]:
    """Return the paths that are neither in the index nor ignored; a directory of only such paths is one
    entry.
    """
    ours = [f"--exclude-from={file}"] if (file := exclude_file(repository)).is_file() else []
    output = run_git(
        repository, *_UNTRACKED, "--exclude=.ostler/", *ours, timeout_seconds=LONG_SECONDS
    ).stdout
    return tuple(os.fsdecode(name) for name in output.split(b"\0")[:-1])


def may_contain_placed(repository: Repository, listing: bytes, patterns: tuple[str, ...]) -> bool:
    """Return whether a list of paths can contain one that `list_staged_placed_files` would return."""
    try:
        lines = placed_file(repository).read_bytes().splitlines()
    except FileNotFoundError:
        lines = []
    wanted = [*lines, *map(os.fsencode, patterns)]
    names = [_ESCAPE.sub(rb"\1", line).strip(b"/") for line in wanted]
    # Only git knows what a wildcard matches. Without one, a name can occur elsewhere too: git decides then.
    return any(map(_WILDCARD.search, wanted)) or any(name in listing for name in names)


def list_staged_placed_files(
    repository: Repository, base: str, env: Mapping[str, str], patterns: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the placed files that are in the index but not in the base commit."""
    also = [f"--exclude-from={file}"] if (file := placed_file(repository)).is_file() else []
    also += [f"--exclude={pattern}" for pattern in patterns]
    if not also:
        return ()
    found = run_git(repository, "ls-files", "-z", "--cached", "--ignored", *also, env=env).stdout.split(
        b"\0"
    )[:-1]
    if not found:
        return ()
    before = run_git(repository, "ls-tree", "-r", "-z", "--name-only", "--full-tree", base).stdout.split(
        b"\0"
    )
    return tuple(os.fsdecode(name) for name in sorted(set(found) - set(before)))
