"""The git configuration as the user's own git reads it; git runs again only when a file of it has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from ostler.git.repository import Repository
from ostler.git.run.failure import classify_failure
from ostler.git.run.program import execute_git, settings_environment, user_environment
from ostler.git.run.safe_config import Entry

_LIST = ("config", "-z", "--includes", "--show-origin", "--list")
_CONDITIONS = ("includeif.onbranch:", "includeif.hasconfig:")  # their answer can change without a file
_OF_WORKTREE = ("includeif.gitdir", "extensions.worktreeconfig")  # worktrees can have other entries
_MAX_KEPT = 64


class _Kept(Struct, frozen=True):
    """Entries, and the content of every file that they depend on; None: there was none."""

    entries: tuple[Entry, ...]
    files: dict[str, bytes | None]


_kept: dict[tuple[str, ...], _Kept] = {}


def read_user_entries(repository: Repository) -> tuple[Entry, ...]:
    """Return all entries, those of the system and of the user first; the last one of a name applies.

    They are for reading values only: some of them name programs.
    """
    pinned = {"GIT_DIR": str(repository.git_dir), "GIT_COMMON_DIR": str(repository.common_dir)}
    env = user_environment() | settings_environment({}) | pinned
    whole = tuple(f"{name}={value}" for name, value in sorted(env.items()))
    shared = tuple(one for one in whole if not one.startswith("GIT_DIR="))  # of all worktrees
    for key in (shared, whole):
        kept = _kept.get(key)
        if kept is not None and all(_read(path) == content for path, content in kept.files.items()):
            return kept.entries
        _kept.pop(key, None)
    kept = _read_entries(repository, env, _list_files(repository, env))
    names = {name for name, _ in kept.entries}
    if not any(name.startswith(_CONDITIONS) for name in names):
        while len(_kept) >= _MAX_KEPT:
            _kept.pop(next(iter(_kept)))
        _kept[whole if any(name.startswith(_OF_WORKTREE) for name in names) else shared] = kept
    return kept.entries


def _read_entries(repository: Repository, env: dict[str, str], paths: set[str]) -> _Kept:
    """Run git, once more if it reads further files: each is read here before git reads it."""
    files = {path: _read(path) for path in paths}
    finished = execute_git(_LIST, env, repository.common_dir)
    if finished.status != 0:
        raise classify_failure(_LIST, finished.stderr, repository.work_tree)
    fields = os.fsdecode(finished.stdout).split("\0")[:-1]
    origins = [origin.removeprefix("file:") for origin in fields[::2]]
    entries = tuple((name, value) for name, _, value in (text.partition("\n") for text in fields[1::2]))
    used = {*origins, *_list_included(zip(origins, entries, strict=True), env)}
    return _Kept(entries, files) if used <= paths else _read_entries(repository, env, paths | used)


def _list_files(repository: Repository, env: dict[str, str]) -> set[str]:
    """Return the files that git reads first, whether they exist or not."""
    home = env.get("HOME", "")
    default = (f"{home}/.gitconfig", f"{env.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git/config")
    return {
        env.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"),
        *((env["GIT_CONFIG_GLOBAL"],) if "GIT_CONFIG_GLOBAL" in env else default),
        str(repository.common_dir / "config"),
        str(repository.git_dir / "config.worktree"),
    }


def _list_included(entries: Iterable[tuple[str, Entry]], env: dict[str, str]) -> Iterator[str]:
    """Yield the files that are included, also those that do not exist or whose condition does not apply."""
    for origin, (name, value) in entries:
        if name == "include.path" or (name.startswith("includeif.") and name.endswith(".path")):
            path = f"{env.get('HOME', '')}{value[1:]}" if value.startswith("~/") else value
            yield os.path.join(os.path.dirname(origin), path)  # noqa: PTH118, PTH120  (may be absolute)


def _read(path: str) -> bytes | None:
    """Return the content of a file; None if there is none that can be read."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
