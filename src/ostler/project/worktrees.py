"""The worktrees of a project's tasks: which there are, and those that nobody needs any more."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.clock import SystemClock
from ostler.engine.post import post
from ostler.errors import GitError, OstlerError
from ostler.files.lock import try_lock
from ostler.git.command import ask, run
from ostler.git.diff import changed
from ostler.git.head import read_heads
from ostler.git.repository import Repository, Worktree, worktree_at
from ostler.git.trash import discard, empty_trash
from ostler.git.warm import Pool, find_forgotten, find_kept
from ostler.git.worktree import remove
from ostler.model.event import WorkspaceReleased
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import TERMINAL
from ostler.project.project import Project


class Place(Struct, frozen=True):
    """One worktree below .ostler/worktrees, or the files of one that was released and is kept."""

    path: str
    task: str  # empty: no task of this project
    status: str
    branch: str | None
    uncommitted: bool
    in_use: bool
    warm: bool = False  # kept for the next task that wants one

    @property
    def idle(self) -> bool:
        """Whether its task needs it no more."""
        return not self.in_use and (not self.task or self.status in TERMINAL)


def list_places(project: Project) -> list[Place]:
    """Every worktree that Ostler made here, by name."""
    home = project.layout.worktrees
    names = sorted(one.name for one in home.iterdir() if _is_worktree(one)) if home.is_dir() else []
    return [_place(project, name) for name in names] + list_warm(project)


def list_warm(project: Project) -> list[Place]:
    """What is kept of released ones, the newest first."""
    found = find_kept(_pool(project))
    return [Place(str(kept.tree), "", "", None, uncommitted=False, in_use=False, warm=True) for kept in found]


def prune(project: Project, force: bool = False) -> tuple[list[Place], list[Place]]:
    """Take the idle ones away; those with work that is not committed only by force. Taken, and left."""
    idle = [place for place in list_places(project) if place.idle]
    taken = [place for place in idle if (force or not place.uncommitted) and _take_away(project, place)]
    for forgotten in find_forgotten(_pool(project)):
        discard(forgotten.path, project.layout.worktrees)
    empty_trash(project.layout.worktrees)
    return taken, [place for place in idle if place not in taken]


def drop_merged_branches(project: Project) -> list[str]:
    """Delete the branches of ended tasks whose work is in the branch that it was for."""
    repository = project.repository()
    if repository is None:
        return []
    ended = [project.state(row.id) for row in project.journal.rows() if row.status in TERMINAL]
    return [state.branch for state in ended if state.branch and _drop(repository, state)]


def _is_worktree(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not path.name.startswith(".")


def _place(project: Project, name: str) -> Place:
    row = project.journal.row(TaskId(name))
    state = project.state(TaskId(name)) if row else None
    return Place(
        path=str(project.layout.worktrees / name),
        task=name if row else "",
        status=row.status if row else "",
        branch=state.branch if state else None,
        uncommitted=_is_uncommitted(project, name, state),
        in_use=project.in_hand(TaskId(name)),
    )


def _worktree(project: Project, name: str, state: State | None) -> Worktree | None:
    repository = project.repository()
    if repository is None or state is None or state.branch is None or state.base is None:
        return None
    return worktree_at(repository, project.layout.worktree(TaskId(name)), state.branch, state.base)


def _is_uncommitted(project: Project, name: str, state: State | None) -> bool:
    """What cannot be looked at may hold work."""
    worktree = _worktree(project, name, state)
    if worktree is None:
        return True
    try:
        return changed(worktree, read_heads(worktree).tip)
    except GitError:
        return True


def _pool(project: Project) -> Pool:
    return Pool(project.layout.worktrees, project.settings.git.warm_worktrees)


def _take_away(project: Project, place: Place) -> bool:
    if place.warm:
        return _drop_warm(project, Path(place.path).parent)
    name = Path(place.path).name
    held = try_lock(project.layout.lock(TaskId(name)), patient=False)
    if held is None:
        return False
    try:
        _remove(project, name)
        if place.task:
            post(project.journal, TaskId(name), WorkspaceReleased(), SystemClock.now())
        return True
    except OstlerError:
        return False
    finally:
        held.release()


def _drop_warm(project: Project, kept: Path) -> bool:
    """False when a task has taken it in the meantime."""
    try:
        return discard(kept, project.layout.worktrees) is not None
    except FileNotFoundError:
        return False


def _remove(project: Project, name: str) -> None:
    state = project.state(TaskId(name)) if project.journal.row(TaskId(name)) else None
    worktree = _worktree(project, name, state)
    if worktree is not None:
        remove(worktree)
    else:
        discard(project.layout.worktrees / name, project.layout.worktrees)


def _drop(repository: Repository, state: State) -> bool:
    target, ref = state.target, f"refs/heads/{state.branch}"
    tip = ask(repository, "for-each-ref", "--format=%(objectname)", ref)
    if not target or not tip or state.worktree is not None:
        return False
    merged = run(repository, "merge-base", "--is-ancestor", tip, f"refs/heads/{target}", accept=(0, 1, 128))
    if merged.status != 0:
        return False
    run(repository, "update-ref", "-d", ref, tip)
    return True
