"""The executed configuration of a task's worktree: what pins it, and what an attempt changed of it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from ostler.calls.sandbox.pinned_configuration import PinnedTree, is_exempt, list_configuration
from ostler.engine.steps.services import StepServices
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.errors import WarningCode
from ostler.model.state import State
from ostler.model.warning import MAX_NAMES, WarningDetail

_PLACE = "pinned"  # in the directory of the task
_MAX_HASHED = 1 << 20  # bytes; a larger file is compared by its size and time


def find_pinned_tree(state: State, services: StepServices) -> PinnedTree | None:
    """Return the worktree whose configuration is pinned; None without one."""
    worktree, repository = find_worktree(state, services), services.repository
    if worktree is None or repository is None:
        return None
    settings = services.settings
    return PinnedTree(
        worktree.path,
        worktree.base,
        repository,
        services.layout.task(state.task) / _PLACE,
        settings.sandbox.writable_config,
        settings.workspace.link,
    )


def read_manifest(tree: PinnedTree | None) -> dict[str, str]:
    """Return a mark of the content of each file of the configuration, by its path in the worktree."""
    if tree is None:
        return {}
    found = (path for path in list_configuration(tree) if not is_exempt(path, tree))
    return {name: _mark(tree.worktree / name) for path in found for name in _list_paths(tree.worktree, path)}


def describe_changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[WarningDetail, ...]:
    """Return one line per file that an attempt created, changed or removed."""
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    lines = [f"{_name_change(one, before, after)} {one}" for one in changed[:MAX_NAMES]]
    if len(changed) > MAX_NAMES:
        lines.append(f"and {len(changed) - MAX_NAMES} more")
    return tuple(WarningDetail(WarningCode.CONFIGURATION_CHANGED, line) for line in lines)


def _name_change(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    if name not in before:
        return "created"
    return "changed" if name in after else "removed"


def _list_paths(root: Path, path: str) -> Iterator[str]:
    """Yield the files and links of a path; links are not followed."""
    top = root / path
    if top.is_symlink() or not top.is_dir():
        yield path
        return
    for here, folders, names in os.walk(top):
        links = [one for one in folders if Path(here, one).is_symlink()]
        for name in (*names, *links):
            yield str(Path(here, name).relative_to(root))


def _mark(path: Path) -> str:
    try:
        facts = path.lstat()
        if stat.S_ISLNK(facts.st_mode):
            return f"link {path.readlink()}"
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_HASHED:
            return f"{facts.st_mode} {facts.st_size} {facts.st_mtime_ns}"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return f"unreadable {error.errno}"
