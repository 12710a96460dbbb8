"""The untracked files that a worktree had before an agent used it: those of [workspace]."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ostler.files.atomic import write_projection
from ostler.git.left.untracked import Found
from ostler.git.left.walk import FoundFile
from ostler.git.repository import Worktree

_FILE = "ostler-baseline"  # in the git directory of the worktree, and deleted with it
_LARGEST_BYTES = 16 << 20
_FOLDER = "-"  # in place of the size and the time


class Baseline(Struct, frozen=True):
    """Files that are not the agent's as long as they are unchanged."""

    files: tuple[FoundFile, ...] = ()
    folders: tuple[str, ...] = ()  # too many files to list: nothing below these is the agent's


def read_baseline(worktree: Worktree) -> Baseline:
    """Return the recorded files; none if the file is missing or damaged."""
    try:
        lines = os.fsdecode(_path(worktree).read_bytes()[:_LARGEST_BYTES]).split("\0")[:-1]
        entries = [line.split(" ", 2) for line in lines]
        files = tuple(
            FoundFile(path, int(size), int(time)) for size, time, path in entries if size != _FOLDER
        )
        return Baseline(files, tuple(path for size, _, path in entries if size == _FOLDER))
    except (OSError, ValueError):
        return Baseline()


def extend_baseline(worktree: Worktree, before: Found, after: Found) -> None:
    """Add the files that [workspace] created or changed between the two lists."""
    created = set(after.files) - set(before.files)
    stored = read_baseline(worktree)
    replaced = {one.path for one in created}
    files = {one for one in stored.files if one.path not in replaced} | created
    folders = {*stored.folders, *(() if after.is_complete else map(_top, replaced))}
    lines = [f"{one.size} {one.modified_ns} {one.path}\0" for one in files]
    lines += [f"{_FOLDER} {_FOLDER} {folder}\0" for folder in folders]
    write_projection(_path(worktree), os.fsencode("".join(sorted(lines))))


def subtract_baseline(found: Found, baseline: Baseline, own: frozenset[str]) -> tuple[FoundFile, ...]:
    """Return the files that are new or changed since then, without Ostler's `own` ones."""
    known = set(baseline.files)
    return tuple(
        file
        for file in found.files
        if file not in known and file.path not in own and _top(file.path) not in baseline.folders
    )


def _top(path: str) -> str:
    return path.partition("/")[0]


def _path(worktree: Worktree) -> Path:
    return worktree.repository.git_dir / _FILE
