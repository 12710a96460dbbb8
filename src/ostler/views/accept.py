"""What a person can do with the work of a task: accept it, or solve a conflict."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from msgspec import Struct

from ostler.errors import Code
from ostler.model.event import Record, StepFailed
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus


class AcceptChoice(Struct, frozen=True):
    """One of the actions merge, publish and rebase."""

    action: str
    label: str
    allowed: bool
    reason: str = ""  # why it is not allowed


class ConflictView(Struct, frozen=True):
    """A conflict that blocks a task, and both ways to solve it."""

    files: tuple[str, ...]
    target: str | None  # the branch that the work conflicts with
    commit: str | None  # of that branch
    agent: str | None  # text for `resume`, which lets an agent solve it; null: an agent cannot
    person: tuple[str, ...]  # the commands of a person who solves it, in order


def view_conflict(state: State, records: Iterable[Record], worktree: str | None) -> ConflictView | None:
    """Return the conflict that blocks the task; None if there is none."""
    if state.status is not TaskStatus.BLOCKED or state.code is not Code.MERGE_CONFLICT:
        return None
    failures = [one.event for one in records if isinstance(one.event, StepFailed)]
    files = failures[-1].files if failures and failures[-1].code is Code.MERGE_CONFLICT else ()
    with_agent = state.stage is Stage.PUBLISHING or (state.stage is Stage.NEW and bool(state.conflict_commit))
    names = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
    target = state.target or "the target"
    return ConflictView(
        files,
        state.target,
        state.conflict_commit,
        f"Resolve the conflict with {target}" + (f" in {names}." if names else ".") if with_agent else None,
        _list_commands(state, worktree) if with_agent else (f"ostler resume {state.task}",),
    )


def _list_commands(state: State, worktree: str | None) -> tuple[str, ...]:
    place = f"cd {shlex.quote(worktree)}" if worktree else f"ostler shell {state.task}"
    other = state.conflict_commit or shlex.quote(state.target or "")
    return (place, f"git merge {other}".strip(), "git commit -a", f"ostler resume {state.task}")
