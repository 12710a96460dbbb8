"""Lists the attempts, sessions, gates and setup commands that run now."""

from __future__ import annotations

import time
from collections.abc import Iterable

from ostler.clock import format_rfc3339
from ostler.model.attempt import Attempt
from ostler.model.ids import TaskId
from ostler.project.agents.stored_session import is_in_use
from ostler.project.cluster.claimed import is_claimed_here
from ostler.project.processes.sessions import find_marked_session
from ostler.project.processes.trees import ProcessTree, find_trees, idle_seconds
from ostler.project.project import Project
from ostler.views.machine import OtherProcessView, ProcessesView, RunningAttemptView


def list_running_attempts(project: Project) -> list[Attempt]:
    """Return the running attempts of active runs."""
    return [one for task in project.journal.listing.running() for one in project.running_attempts(task)]


def read_processes(project: Project, everywhere: bool = False) -> ProcessesView:
    """Return what runs in the project, and with `everywhere` in all projects of this user."""
    attempts, trees, now = list_running_attempts(project), find_trees(), time.time()
    store = project.journal.store_id
    own = [tree for tree in trees if tree.marker.store == store]
    others = [
        tree
        for tree in own
        if not tree.marker.number and is_claimed_here(TaskId(tree.marker.task), project.layout)
    ]
    sessions = [
        tree for tree in own if (one := find_marked_session(project, tree.marker)) and is_in_use(project, one)
    ]
    foreign = [tree for tree in trees if tree.marker.store != store] if everywhere else []
    return ProcessesView(
        attempts=(*view_running(project, attempts, own), *_view_foreign(foreign, now)),
        others=(
            *(_view_other(tree, now, "session") for tree in sessions),
            *(_view_other(tree, now) for tree in (*others, *foreign) if not tree.marker.number),
        ),
    )


def view_running(
    project: Project, attempts: Iterable[Attempt], trees: Iterable[ProcessTree] | None = None
) -> tuple[RunningAttemptView, ...]:
    """Return these attempts with what their processes use."""
    found = {(one.marker.store, one.marker.task, one.marker.number): one for one in trees or find_trees()}
    store = project.journal.store_id
    return tuple(_view_attempt(project, one, found.get((store, one.task, one.number))) for one in attempts)


def _view_attempt(project: Project, attempt: Attempt, tree: ProcessTree | None) -> RunningAttemptView:
    task, now = project.task(attempt.task), time.time()
    return RunningAttemptView(
        attempt.task,
        attempt.number,
        attempt.phase,
        attempt.executor,
        attempt.model,
        format_rfc3339(attempt.started_at),
        tree.memory_mb if tree else None,
        id=f"{attempt.task}:{attempt.number}",
        pid=tree.pid if tree else None,
        age_seconds=round(max(0.0, now - attempt.started_at), 1),
        cpu_seconds=round(tree.cpu_seconds, 2) if tree else None,
        cpu_percent=tree.cpu_percent(now) if tree else None,
        idle_seconds=idle_seconds(project.layout.task(attempt.task) / attempt.transcript),
        pool=project.name_pool(task),
        project=str(project.layout.root),
    )


def _view_foreign(trees: Iterable[ProcessTree], now: float) -> Iterable[RunningAttemptView]:
    """Return the attempts of other projects, as far as their processes show."""
    for tree in trees:
        if tree.marker.number:
            yield RunningAttemptView(
                tree.marker.task,
                tree.marker.number,
                "",
                tree.program,
                "",
                format_rfc3339(tree.started_at),
                tree.memory_mb,
                id=tree.marker.attempt,
                pid=tree.pid,
                age_seconds=round(max(0.0, now - tree.started_at), 1),
                cpu_seconds=round(tree.cpu_seconds, 2),
                cpu_percent=tree.cpu_percent(now),
                project=tree.project,
            )


def _view_other(tree: ProcessTree, now: float, kind: str = "gate") -> OtherProcessView:
    return OtherProcessView(
        tree.marker.task,
        tree.program,
        tree.pid,
        format_rfc3339(tree.started_at),
        round(max(0.0, now - tree.started_at), 1),
        round(tree.cpu_seconds, 2),
        tree.cpu_percent(now),
        tree.memory_mb,
        kind,
    )
