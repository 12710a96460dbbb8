"""Work that no phase has finished yet: committed before it could be lost, and put aside by a rewind."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.steps.tools import Tools
from ostler.engine.steps.workspace import worktree_of
from ostler.errors import Code, GitError
from ostler.git.commit import checkpoint
from ostler.git.diff import changed
from ostler.git.head import read_heads
from ostler.git.identity import read_identity
from ostler.git.rebase import take_in
from ostler.git.rewind import rewind
from ostler.git.trailers import write_message
from ostler.model.event import TaskStarted
from ostler.model.state import State


def keep_work(state: State, tools: Tools) -> str | None:
    """Commit what is not committed; the commit, or None where there is nothing to keep."""
    worktree = worktree_of(state, tools)
    if worktree is None or not worktree.path.exists():
        return None
    if not changed(worktree, read_heads(worktree).tip):
        return None
    place = f"{state.task}/{state.round}.{state.current.id}.{state.iteration}.{state.call}.{state.claims}"
    trailers = {"Task-Id": state.task, "Phase": state.current.id, "Step": f"{place}/wip"}
    subject = f"{tools.settings.git.commit_prefix} {state.task}: {state.current.id} - work in progress"
    return checkpoint(worktree, subject.strip(), trailers, read_identity(worktree.repository)).commit


def put_back(state: State, started: TaskStarted, tools: Tools) -> None:
    """After a rewind: the branch stands where the phase began; what came after it is kept under a ref."""
    here = _here(state, started)
    worktree = worktree_of(here, tools)
    if worktree is None or state.reset_to is None:
        return
    try:
        keep_work(here, tools)
    except GitError as error:
        if error.code is not Code.WORKTREE_LOST:
            raise
    kept_as = f"refs/ostler/rewound/{state.task}/{state.round}"
    rewind(worktree, state.reset_to, kept_as, read_identity(worktree.repository))


def take_target_in(state: State, started: TaskStarted, onto: str, tools: Tools) -> TaskStarted:
    """After a conflict: the branch gets what it did not fit, so that an agent can make it fit."""
    here = _here(state, started)
    worktree = worktree_of(here, tools)
    if worktree is None:
        return started
    keep_work(here, tools)
    subject = f"{tools.settings.git.commit_prefix} {state.task}: merge {state.target or onto[:10]}".strip()
    trailers = {"Task-Id": state.task, "Step": f"{state.task}/{state.round}/{onto}"}
    message = write_message(subject, trailers).decode()
    take_in(worktree, onto, message, read_identity(worktree.repository))
    return replace(started, base=onto)


def _here(state: State, started: TaskStarted) -> State:
    return replace(state, worktree=started.worktree, branch=started.branch, base=started.base)
