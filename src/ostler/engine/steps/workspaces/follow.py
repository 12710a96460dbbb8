"""Rebases the branch of a task when one of its predecessors was completed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ostler.engine.steps.services import StepServices
from ostler.engine.steps.workspaces.base import choose_base, read_works
from ostler.engine.steps.workspaces.work_in_progress import save_work_in_progress
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.files.failpoint import reach
from ostler.git.identity import read_identity
from ostler.git.names import format_files
from ostler.git.refs import resolve_tree
from ostler.git.stack import Work
from ostler.model.event import TREE_PREFIX, TaskStarted
from ostler.model.state import State

if TYPE_CHECKING:
    from ostler.git.publish.merge import MergeConflict


def follow_predecessors(state: State, started: TaskStarted, services: StepServices) -> TaskStarted:
    """Rebase the branch if a predecessor was completed again with another commit.

    Raises MergeConflict, with `conflict_commit` for an agent to merge, and changes nothing if it cannot.
    """
    works = read_works(state, services)
    if services.repository is None or not _is_outdated(state, works):
        return started
    from ostler.git.publish.merge import MergeConflict  # noqa: PLC0415  (imported on use)
    from ostler.git.publish.rebase import move_to_base  # noqa: PLC0415  (imported on use)

    current = replace(state, worktree=started.worktree, branch=started.branch, base=started.base)
    worktree = find_worktree(current, services)
    assert worktree is not None
    save_work_in_progress(current, services)
    base = choose_base(services.repository, state, services)
    identity = read_identity(services.repository)
    try:
        moved = move_to_base(worktree, base.commit, identity)
    except MergeConflict as conflict:
        raise _describe_conflict(conflict, state, works, base.commit) from conflict
    reach("base.moved")
    tree = resolve_tree(worktree.repository, moved.tip)[:TREE_PREFIX]
    return replace(started, base=moved.base, predecessors=base.predecessors, commit=moved.tip, tree=tree)


def _is_outdated(state: State, works: tuple[Work, ...]) -> bool:
    recorded = {one.task: one.commit for one in state.predecessors}
    return any(recorded.get(work.task, work.commit) != work.commit for work in works)


def _describe_conflict(
    conflict: MergeConflict, state: State, works: tuple[Work, ...], base: str
) -> MergeConflict:
    from ostler.git.publish.merge import MergeConflict  # noqa: PLC0415  (imported on use)

    names = ", ".join(work.task for work in works)
    message = f"{state.task} and the new work of {names} both changed {format_files(conflict.files)}"
    hint = (
        f'run ostler resume {state.task} -m "..." to let an agent resolve it;'
        f" or merge {base:.10} in the worktree, then run ostler resume {state.task}"
    )
    return MergeConflict(message, hint, conflict.files, base)
