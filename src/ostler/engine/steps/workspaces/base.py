"""The base of a task: the target, or the work of the tasks that it comes after."""

from __future__ import annotations

from msgspec import Struct

from ostler.engine.dependencies import list_completed
from ostler.engine.steps.services import StepServices
from ostler.files.failpoint import reach
from ostler.git.identity import read_identity
from ostler.git.refs import find_base
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
    """Return the commits of the completed tasks that this one builds on; none for a document."""
    if state.order_only or state.plan.is_document or not state.after:
        return ()
    rows = [services.journal.row(task) for task in state.after]
    states = [decode_state(row) for row in rows if row is not None]
    return tuple(Work(one.task, one.base or "", one.commit or "") for one in list_completed(states))


def choose_base(repository: Repository, state: State, services: StepServices) -> ChosenBase:
    """Return the base of a new task. Raises MergeConflict if its predecessors do not merge cleanly."""
    found = find_base(repository, services.settings.git.target or state.target or "")
    works = read_works(state, services)
    start = state.start_commit or found.commit
    stack = build_base(repository, start, works, state.task, read_identity(repository))
    reach("base.built")
    return ChosenBase(stack.commit, found.branch, _list_predecessors(works, stack.unmerged))


def _list_predecessors(works: tuple[Work, ...], unmerged: tuple[str, ...]) -> tuple[Predecessor, ...]:
    return tuple(Predecessor(work.task, work.commit, work.task not in unmerged) for work in works)
