"""The base of a task: the target, or the work of the tasks that it comes after."""

from __future__ import annotations

from msgspec import Struct

from ostler.engine.dependencies import list_completed
from ostler.engine.steps.services import StepServices
from ostler.engine.steps.workspaces.moving import (
    fetch_commits,
    fetch_start,
    fetch_target,
    find_shared_target,
)
from ostler.files.failpoint import reach
from ostler.git.identity import read_identity
from ostler.git.refs import Base, find_base
from ostler.git.repository import Repository
from ostler.git.stack import Work, build_base
from ostler.model.predecessor import Predecessor
from ostler.model.rows import decode_state
from ostler.model.state import State


class ChosenBase(Struct, frozen=True):
    """The commit that a task starts from."""

    commit: str
    target: str | None  # branch to merge into
    predecessors: tuple[Predecessor, ...] = ()


def read_works(state: State, services: StepServices) -> tuple[Work, ...]:
    """Return the commits of the completed tasks that this one builds on; none for a document.

    Those of another host are fetched.
    """
    if state.order_only or state.plan.is_document or not state.after:
        return ()
    rows = [services.journal.row(task) for task in state.after]
    states = [decode_state(row) for row in rows if row is not None]
    works = tuple(Work(one.task, one.base or "", one.commit or "") for one in list_completed(states))
    fetch_commits({work.task: work.commit for work in works}, services)
    return works


def choose_base(repository: Repository, state: State, services: StepServices) -> ChosenBase:
    """Return the base of a new task. Raises MergeConflict if its predecessors do not merge cleanly."""
    found = _find_target(repository, services.settings.git.target or state.target or "", services)
    works = read_works(state, services)
    fetch_start(state.start_commit, services)
    start = state.start_commit or found.commit
    stack = build_base(repository, start, works, state.task, read_identity(repository))
    reach("base.built")
    return ChosenBase(stack.commit, found.branch, _list_predecessors(works, stack.unmerged))


def _find_target(repository: Repository, target: str, services: StepServices) -> Base:
    """Return the target, as it is at the remote where tasks move: this clone may have an old one, or none."""
    target = target or find_shared_target(services)
    if target and (commit := fetch_target(target, services)):
        return Base(commit, target)
    return find_base(repository, target)


def _list_predecessors(works: tuple[Work, ...], unmerged: tuple[str, ...]) -> tuple[Predecessor, ...]:
    return tuple(Predecessor(work.task, work.commit, work.task not in unmerged) for work in works)
