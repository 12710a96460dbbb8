"""What a task left on the disk and in the repository."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ostler.files.layout import Layout
from ostler.git.kept import list_own_refs
from ostler.git.refs import find_checkout
from ostler.git.repository import Repository, locate_worktree
from ostler.git.run.command import query_git, run_git
from ostler.git.worktree.registration import WorktreeState, inspect_worktree
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.sandbox.limits.disk_use import measure_disk_use


class Remains(Struct, frozen=True):
    """The directories and refs of a task."""

    task: TaskId
    directories: tuple[Path, ...] = ()  # without the worktree
    worktree: Path | None = None
    refs: tuple[str, ...] = ()  # below refs/ostler
    branch: str = ""  # to delete; empty: it is kept, or there is none
    kept_branch: str = ""  # not merged

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to delete."""
        return not (self.directories or self.worktree or self.refs or self.branch)

    def count_bytes(self) -> int:
        """Return the disk space of the directories."""
        trees = (*self.directories, *((self.worktree,) if self.worktree else ()))
        return measure_disk_use(trees).total


class RemainsFinder:
    """Finds what tasks left; reads the refs once."""

    def __init__(self, layout: Layout, repository: Repository | None) -> None:
        self._layout = layout
        self._repository = repository
        self._refs = list_own_refs(repository) if repository else {}

    def find(self, state: State, *, branches: bool) -> Remains:
        """Return what is left of a task; its branch if it is merged, or with `branches`."""
        task = state.task
        folders = (self._layout.task(task), self._layout.desk(task))
        branch = self._find_branch(state)
        deletes = bool(branch) and self._is_free(branch, task) and (branches or self._is_merged(state))
        return Remains(
            task,
            directories=tuple(folder for folder in folders if os.path.lexists(folder)),
            worktree=self._layout.worktree(task) if self._has_worktree(state) else None,
            refs=tuple(self._refs.get(task, ())),
            branch=branch if deletes else "",
            kept_branch="" if deletes else branch,
        )

    def list_names(self) -> set[str]:
        """Return the names of all tasks that have something left, and of other entries beside them."""
        places = (self._layout.tasks, self._layout.worktrees, self._layout.desk(TaskId("x")).parent)
        found = {path.name for place in places if place.is_dir() for path in place.iterdir()}
        return found | self._refs.keys()

    def _has_worktree(self, state: State) -> bool:
        """Return whether the files are left, or only git's registration of them."""
        path = self._layout.worktree(state.task)
        if os.path.lexists(path) or self._repository is None or not state.branch or not state.base:
            return os.path.lexists(path)
        worktree = locate_worktree(self._repository, path, state.branch, state.base)
        is_registered = worktree.repository.git_dir.is_dir()
        return is_registered and inspect_worktree(worktree) is not WorktreeState.NAME_TAKEN

    def _find_branch(self, state: State) -> str:
        if self._repository is None or not state.branch:
            return ""
        ref = f"refs/heads/{state.branch}"
        return state.branch if query_git(self._repository, "for-each-ref", ref) else ""

    def _is_free(self, branch: str, task: TaskId) -> bool:
        """Return whether no worktree of the user has the branch checked out."""
        assert self._repository is not None
        place = find_checkout(self._repository, branch)
        return place is None or place == self._layout.worktree(task)

    def _is_merged(self, state: State) -> bool:
        if self._repository is None or not state.target:
            return False
        ends = (f"refs/heads/{state.branch}", f"refs/heads/{state.target}")
        checked = run_git(self._repository, "merge-base", "--is-ancestor", *ends, accept=(0, 1, 128))
        return checked.status == 0
