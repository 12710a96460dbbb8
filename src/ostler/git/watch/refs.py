"""Branches, tags and the stash of a repository, and what moved them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ostler.git.repository import Repository
from ostler.git.run.command import run_git

WHILE_RUNNING = "while the task ran"
_ROOTS = ("refs/heads", "refs/tags", "refs/stash")
_KINDS = {"refs/heads/": "the branch ", "refs/tags/": "the tag ", "refs/stash": "the stash"}
_HEAD = "HEAD"
_OWN_ENTRY = "ostler:"  # start of the reflog messages of Ostler
_MAX_ENTRIES = 50
_SHORT = 10


def read_refs(repository: Repository) -> dict[str, str]:
    """Return the branches, tags and the stash with their values, and HEAD of the user's checkout.

    Files are read without git, because this is done before and after every call.
    """
    if (repository.common_dir / "reftable").is_dir():
        found = _list_with_git(repository)
    else:
        found = _read_packed(repository.common_dir) | _read_loose(repository.common_dir)
    return {**found, _HEAD: _read_text(repository.git_dir / _HEAD)}


def describe_moves(
    repository: Repository,
    before: dict[str, str],
    after: dict[str, str],
    is_own: Callable[[str], bool],
    when: str = WHILE_RUNNING,
) -> tuple[str, ...]:
    """Return a line for each ref that Ostler did not change; `is_own` names the branches of tasks."""
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    lines = (
        _describe(repository, name, before.get(name, ""), after.get(name, ""), when)
        for name in changed
        if not is_own(name.removeprefix("refs/heads/"))
    )
    return tuple(line for line in lines if line)


def _describe(repository: Repository, name: str, old: str, new: str, when: str) -> str:
    """Return what happened to a ref; empty if Ostler did it."""
    if name == _HEAD:
        return f"HEAD of your checkout changed from {_shorten(old)} to {_shorten(new)} {when}"
    root = next(root for root in _KINDS if name.startswith(root))
    what = _KINDS[root] + name.removeprefix(root)
    if not new:
        return f"{what} was removed {when}; it was at {_shorten(old)}"
    entries = _read_reflog(repository, name, old)
    if entries and all(message.startswith(_OWN_ENTRY) for _, message in entries):
        return ""
    cause = f" ({entries[0][0]}: {entries[0][1]})" if entries else ""
    if not old:
        return f"{what} was created at {_shorten(new)} {when}{cause}"
    return f"{what} moved from {_shorten(old)} to {_shorten(new)} {when}{cause}"


def _read_reflog(repository: Repository, name: str, old: str) -> list[tuple[str, str]]:
    """Return author and message of each entry since the old value, newest first; none without a reflog."""
    args = ("reflog", "show", f"--max-count={_MAX_ENTRIES}", "--format=%H%x00%gn%x00%gs", name, "--")
    output = run_git(repository, *args, accept=(0, 1, 128)).stdout.decode("utf-8", "replace")
    entries: list[tuple[str, str]] = []
    for line in output.splitlines():
        commit, _, rest = line.partition("\0")
        if commit == old:
            break
        author, _, message = rest.partition("\0")
        entries.append((author, message))
    return entries


def _shorten(value: str) -> str:
    return value.removeprefix("ref: refs/heads/") if value.startswith("ref: ") else value[:_SHORT]


def _list_with_git(repository: Repository) -> dict[str, str]:
    output = run_git(repository, "for-each-ref", "--format=%(objectname) %(refname)", *_ROOTS).stdout
    return _parse_lines(output)


def _read_packed(common_dir: Path) -> dict[str, str]:
    try:
        return _parse_lines((common_dir / "packed-refs").read_bytes())
    except FileNotFoundError:
        return {}


def _parse_lines(text: bytes) -> dict[str, str]:
    lines = (line.partition(" ") for line in text.decode("utf-8", "replace").splitlines())
    return {name: value for value, _, name in lines if name.startswith(_ROOTS)}


def _read_loose(common_dir: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for root in _ROOTS[:2]:
        for folder, _, files in os.walk(common_dir / root):
            for name in files:
                path = Path(folder, name)
                if not name.endswith(".lock"):
                    found[_show(path.relative_to(common_dir))] = _read_text(path)
    stash = _read_text(common_dir / _ROOTS[2])
    return found | ({_ROOTS[2]: stash} if stash else {})


def _read_text(path: Path) -> str:
    """Return the value of a ref; empty if it is missing."""
    try:
        return path.read_bytes()[:1024].decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _show(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
