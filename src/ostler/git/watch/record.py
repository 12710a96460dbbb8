"""A record of the user's repository before an agent runs, and its comparison with the state afterwards."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from ostler.errors import GitError
from ostler.git.repository import Repository
from ostler.git.run.safe_config import read_config_entries
from ostler.git.watch.refs import WHILE_RUNNING, describe_moves, read_refs

MAX_NAMES = 5
_LARGEST_BYTES = 1 << 20
_UNREADABLE = {"": ""}


class RepositoryRecord(Struct, frozen=True):
    """What an agent has no reason to change. Settings are hashed, because some contain passwords."""

    refs: dict[str, str]
    config: dict[str, str]
    hooks: dict[str, str]
    exclude: bytes | None = None  # content of info/exclude; null: there is none


class Changes(Struct, frozen=True):
    """What is different, in words."""

    moves: tuple[str, ...] = ()  # of refs
    files: tuple[str, ...] = ()  # settings and hooks


def read_record(repository: Repository) -> RepositoryRecord:
    """Return the present state; it starts no git process, except for an uncommon storage of refs."""
    return RepositoryRecord(
        read_refs(repository),
        _read_config(repository),
        _read_hooks(repository.common_dir / "hooks"),
        read_small_file(exclude_path(repository)),
    )


def compare_record(
    repository: Repository,
    before: RepositoryRecord,
    after: RepositoryRecord,
    is_own: Callable[[str], bool],
    when: str = WHILE_RUNNING,
) -> Changes:
    """Return the changes; `is_own` names the branches of tasks, which Ostler and agents may change."""
    moves = describe_moves(repository, before.refs, after.refs, is_own, when)
    more = f"and {len(moves) - MAX_NAMES} more refs"
    shown = moves if len(moves) <= MAX_NAMES else (*moves[:MAX_NAMES], more)
    settings = _compare_config(before.config, after.config, is_own, when)
    return Changes(shown, (*settings, *_compare_hooks(before.hooks, after.hooks, when)))


def exclude_path(repository: Repository) -> Path:
    """Return the exclude file that all worktrees share; a task's own one is another file."""
    return repository.common_dir / "info" / "exclude"


def read_small_file(path: Path) -> bytes | None:
    """Return the content of a regular file; None if it is missing or has another type."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            return file.read(_LARGEST_BYTES)
    except OSError:
        return None


def _read_config(repository: Repository) -> dict[str, str]:
    try:
        entries = read_config_entries(repository)
    except GitError:
        return _UNREADABLE
    values: dict[str, str] = {}
    for name, value in entries:
        shown = os.fsencode(name).decode("utf-8", "replace")
        values[shown] = _hash(values.get(shown, "").encode() + os.fsencode(value))
    return values


def _read_hooks(folder: Path) -> dict[str, str]:
    active = [one for one in folder.iterdir() if one.suffix != ".sample"] if folder.is_dir() else []
    return {
        os.fsencode(one.name).decode("utf-8", "replace"): _hash(read_small_file(one) or b"") for one in active
    }


def _compare_config(
    before: dict[str, str], after: dict[str, str], is_own: Callable[[str], bool], when: str
) -> tuple[str, ...]:
    if after == _UNREADABLE != before:
        return ("the git settings of the repository cannot be read since the task ran",)
    names = [name for name in _changed(before, after) if not _is_of_task(name, is_own)]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    shown = f"{', '.join(names[:MAX_NAMES])}{more}"
    return (f"git settings of the repository changed {when}: {shown}",) if names else ()


def _is_of_task(setting: str, is_own: Callable[[str], bool]) -> bool:
    """Return whether it is a setting of a task's branch, such as its upstream."""
    return setting.startswith("branch.") and is_own(setting.removeprefix("branch.").rpartition(".")[0])


def _compare_hooks(before: dict[str, str], after: dict[str, str], when: str) -> tuple[str, ...]:
    names = _changed(before, after)
    shown = ", ".join(names[:MAX_NAMES])
    return (f"hooks of the repository changed {when}: {shown}",) if names else ()


def _changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
