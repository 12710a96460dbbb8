"""Files that an agent left in its worktree and that no commit contains: named, and kept with the task."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.config.settings import WorkspaceSettings
from ostler.engine.task_files import FILES_IN_WORKTREE
from ostler.errors import OstlerError
from ostler.files.layout import Layout
from ostler.git.left.baseline import read_baseline, subtract_baseline
from ostler.git.left.keep import copy_files, list_copied
from ostler.git.left.submodules import is_checked_out
from ostler.git.left.untracked import Found, find_untracked
from ostler.git.left.walk import FoundFile
from ostler.git.repository import Worktree
from ostler.git.worktree.registration import is_empty
from ostler.model.state import State
from ostler.model.warning import MAX_NAMES, LeftFiles

NOTHING_LEFT = LeftFiles()
_DIRECTORY = "left"


def find_in_worktree(worktree: Worktree, settings: WorkspaceSettings) -> Found:
    """Return the untracked files of a worktree that can be a result."""
    return find_untracked(worktree, settings.ignore_left)


def find_left(worktree: Worktree, settings: WorkspaceSettings) -> LeftFiles:
    """Return the files that are neither committed nor from [workspace] nor from Ostler."""
    if is_empty(worktree.path):
        return NOTHING_LEFT
    found = find_in_worktree(worktree, settings)
    return _summarize(_select(worktree, found))


def keep_left(state: State, worktree: Worktree, settings: WorkspaceSettings, layout: Layout) -> LeftFiles:
    """Copy the files to the task's directory, so that the worktree can be removed.

    A `note` in the result says why that is not possible; then the worktree has to be kept.
    """
    destination = layout.task(state.task) / _DIRECTORY / str(state.round)
    shown = show_path(destination, layout)
    if is_empty(worktree.path):  # removed by a run that was killed before it could record that
        copied = list_copied(destination)
        return _summarize(copied, kept_in=shown) if copied else NOTHING_LEFT
    found = find_in_worktree(worktree, settings)
    left = _select(worktree, found)
    if not left:
        return NOTHING_LEFT
    if reason := _refuse(worktree, found, left, settings):
        return _summarize(left, note=_describe_kept_worktree(state, worktree, reason, layout))
    try:
        copy_files(left, worktree.path, destination)
    except (OSError, OstlerError) as error:
        reason = f"a copy failed: {error}"
        return _summarize(left, note=_describe_kept_worktree(state, worktree, reason, layout))
    return _summarize(left, kept_in=shown)


def _select(worktree: Worktree, found: Found) -> tuple[FoundFile, ...]:
    baseline = read_baseline(worktree)
    left = subtract_baseline(found, baseline, FILES_IN_WORKTREE)
    if left or found.is_complete:
        return left
    # The agent's files may be among those that were not counted.
    return tuple(FoundFile(folder, 0, 0) for folder in baseline.folders) or found.files


def _refuse(
    worktree: Worktree, found: Found, left: tuple[FoundFile, ...], settings: WorkspaceSettings
) -> str:
    """Return why the files are not copied; empty if they are."""
    submodules = [file.path for file in left if is_checked_out(worktree.path / file.path)]
    if submodules:
        return f"a submodule has work that no commit of the task contains ({', '.join(submodules)})"
    if not found.is_complete:
        return f"there are more than {len(found.files)} untracked files (see workspace.ignore_left)"
    size = sum(file.size for file in left)
    return "larger than workspace.keep_left_mb" if size > settings.keep_left_mb << 20 else ""


def _describe_kept_worktree(state: State, worktree: Worktree, reason: str, layout: Layout) -> str:
    path = show_path(worktree.path, layout)
    return f"{reason}, so {path} is kept; remove it with: ostler worktree prune --force {state.task}"


def show_path(path: Path, layout: Layout) -> str:
    """Return a path for a message: relative to the project if it is below it."""
    return str(path.relative_to(layout.root)) if path.is_relative_to(layout.root) else str(path)


def _summarize(files: tuple[FoundFile, ...], kept_in: str = "", note: str = "") -> LeftFiles:
    # The files of nested repositories are more telling than those of their git directories.
    ordered = sorted(files, key=lambda file: ("/.git/" in file.path, file.path))
    names = tuple(os.fsencode(file.path).decode("utf-8", "replace") for file in ordered[:MAX_NAMES])
    return LeftFiles(len(files), names, sum(file.size for file in files), kept_in, note)
