"""Files that control Ostler, agents or CI: a person reviews their change before it is merged or published."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.engine.steps.services import StepServices
from ostler.files.protected import is_guarded
from ostler.git.commit.diff import list_touched_files
from ostler.git.commit.links import list_names, read_links
from ostler.git.refs import find_base
from ostler.git.repository import Repository
from ostler.git.run.command import query_git
from ostler.model.rows import decode_state
from ostler.model.state import GateState, State


def list_guarded_files(state: State, services: StepServices) -> tuple[str, ...]:
    """Return the guarded files that the task changed, and those of its predecessors that nobody approved."""
    if services.repository is None or state.base is None or state.commit is None:
        return ()
    own = _list_guarded(services.repository, state.base, state.commit)
    return tuple(dict.fromkeys((*own, *_list_carried(services.repository, state, state.base, services))))


def needs_person(gate: GateState | None, state: State, services: StepServices) -> bool:
    """Return whether guarded files changed, and no person has approved them at this gate."""
    if gate is not None and gate.is_approved_by_person:
        return False
    return bool(list_guarded_files(state, services))


def _list_guarded(repository: Repository, base: str, commit: str) -> list[str]:
    """Return the changed files that are guarded by their path, or by a symbolic link that leads to them."""
    touched = list_touched_files(repository, base, commit)
    links = read_links(repository, (base, commit) if touched else ())
    return [path for path in touched if any(map(is_guarded, list_names(path, links)))]


def _list_carried(repository: Repository, state: State, base: str, services: StepServices) -> list[str]:
    """Return the guarded files of tasks that the work starts from: they reach the target with it."""
    if all(one.merged for one in state.predecessors):
        return []
    target = find_base(repository, services.settings.git.target or state.target or "").commit
    fork = query_git(repository, "merge-base", target, base).partition("\n")[0]
    approved = set(_list_approved(state, services))
    return [path for path in _list_guarded(repository, fork or target, base) if path not in approved]


def _list_approved(state: State, services: StepServices) -> Iterator[str]:
    """Yield the guarded files that a person approved before the publication of a predecessor."""
    for one in state.predecessors:
        row = services.journal.row(one.task)
        before = decode_state(row) if row is not None else None
        if before is None:
            continue
        if before.merge is not None and before.merge.is_approved_by_person and before.merge.sha == one.commit:
            yield from before.merge.guarded
        yield from _list_approved(before, services)
