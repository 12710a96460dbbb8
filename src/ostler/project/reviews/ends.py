"""The two sides of a task's changes: the base, and the current work."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from msgspec import Struct

from ostler.errors import GitError, UsageError
from ostler.git.commit.diff import find_changed_tree, write_current_tree
from ostler.git.refs import has_object
from ostler.git.repository import Repository, locate_worktree
from ostler.git.worktree.registration import WorktreeState, inspect_worktree
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.project.cluster.commits import fetch_task, has_workspace
from ostler.project.decisions.dispose import describe_purged
from ostler.project.project import Project

_MOST_SHOWN = 200  # tasks

_shown: OrderedDict[tuple[Path, TaskId], tuple[int, Ends]] = OrderedDict()
_lock = Lock()


class CommitsGone(UsageError):
    """The commits of a task are not in the repository any more."""


class Ends(Struct, frozen=True):
    """The sides of a comparison."""

    repository: Repository
    base: str  # commit
    head: str  # commit, or a tree if the worktree has uncommitted changes
    uncommitted: bool


def find_base(project: Project, task: TaskId) -> tuple[State, Repository, str]:
    """Return the state of a task, the repository, and the base of the task. Raises as find_ends."""
    state = project.state(task)
    repository = project.repository()
    if state.purged_at is not None:
        raise CommitsGone(f"{describe_purged(state)}: its changes are deleted", f"ostler show {task}")
    if repository is None or state.branch is None or state.base is None:
        where = (
            "the project is not a git repository" if repository is None else f"{task} has not been started"
        )
        raise UsageError(f"no changes to show: {where}", f"ostler show {task}")
    return state, repository, state.base


def find_ends(project: Project, task: TaskId) -> Ends:
    """Return the base of the task, and its last commit or the tree of its current files.

    It reads the recorded commits, not the branch: a merged branch may be deleted. Raises UsageError, and
    CommitsGone.
    """
    state, repository, base = find_base(project, task)
    assert state.branch is not None
    worktree = locate_worktree(repository, project.layout.worktree(task), state.branch, base)
    is_here = has_workspace(project, state)
    if is_here and state.worktree is not None and inspect_worktree(worktree) is WorktreeState.COMPLETE:
        if state.commit is None:
            return Ends(worktree.repository, base, write_current_tree(worktree), uncommitted=True)
        tree = find_changed_tree(worktree, state.commit)
        return Ends(worktree.repository, base, tree or state.commit, uncommitted=bool(tree))
    tip = state.tip or state.commit or base
    if not is_here:
        fetch_task(project, state.task, tip)
    return Ends(repository, base, tip, uncommitted=False)


def remember_ends(project: Project, state: State, ends: Ends) -> None:
    """Keep what a page shows of a task, so that its patches and texts need no other scan of the files."""
    key = (project.layout.state, state.task)
    with _lock:
        _shown[key] = (state.seq, ends)
        _shown.move_to_end(key)
        while len(_shown) > _MOST_SHOWN:
            _shown.popitem(last=False)


def recall_ends(project: Project, state: State, head: str = "") -> Ends | None:
    """Return what was shown last, with this head if it is given; None if the task has changed since."""
    with _lock:
        seq, ends = _shown.get((project.layout.state, state.task), (-1, None))
    if ends is None or seq != state.seq or (head and head != ends.head):
        return None
    return ends


@contextmanager
def reading(ends: Ends, task: TaskId) -> Generator[None]:
    """Raise CommitsGone instead of a GitError, if a commit of the comparison is missing."""
    try:
        yield
    except GitError:
        for end in (ends.base, ends.head):
            if not has_object(ends.repository, end):
                raise CommitsGone(
                    f"commit {end:.10} of {task} is not in the repository any more", f"ostler show {task}"
                ) from None
        raise
