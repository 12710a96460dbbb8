"""Finds and ends orphans: processes of attempts and gates whose run is dead.

A process is recognized by the marker in its environment, never by its name. It is an orphan when no run has
claimed its task, when its attempt has ended, or when the process of the run that started it is gone. The
agent of a session without a task is an orphan when no process uses the session; that of a model check never.
"""

from __future__ import annotations

import time
from contextlib import suppress

import psutil

from ostler.clock import format_rfc3339
from ostler.model.ids import TaskId
from ostler.project.agents.stored_session import is_in_use
from ostler.project.processes.owner import is_owner_dead
from ostler.project.processes.sessions import belongs_to_task, find_marked_session
from ostler.project.processes.trees import Marker, ProcessTree, find_trees
from ostler.project.project import Project
from ostler.views.machine import OrphanView

_PAUSE_SECONDS = 0.05
_KILL_SECONDS = 2.0  # between SIGKILL and giving up


def find_orphans(project: Project) -> list[ProcessTree]:
    """Return the orphans of this project, the oldest first."""
    store = project.journal.store_id
    # Their owners are read after the processes: an attempt is recorded before its process starts.
    return [tree for tree in find_trees() if tree.marker.store == store and _is_orphan(project, tree)]


def kill_orphans(project: Project, grace_seconds: float) -> list[ProcessTree]:
    """End the orphans: SIGTERM, the grace period, SIGKILL. Return those that are left."""
    left = find_orphans(project)
    for kill, seconds in ((False, grace_seconds), (True, _KILL_SECONDS)):
        deadline = time.monotonic() + seconds
        _signal(left, kill)
        while left and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
            left = find_orphans(project)
            if kill:
                _signal(left, kill)
    return left


def view_orphan(project: Project, tree: ProcessTree) -> OrphanView:
    return OrphanView(
        tree.marker.task,
        tree.marker.number or None,
        tree.program,
        tree.pids,
        format_rfc3339(tree.started_at),
        tree.memory_mb,
        _explain(project, tree),
    )


def _is_orphan(project: Project, tree: ProcessTree) -> bool:
    return bool(_explain(project, tree)) and any(map(_is_alive, tree.pids))


def _explain(project: Project, tree: ProcessTree) -> str:
    """Return why the processes are orphans; empty: their run is alive."""
    task, number = TaskId(tree.marker.task), tree.marker.number
    if not belongs_to_task(project, tree.marker):
        return _explain_session(project, tree.marker)
    if not project.is_claimed(task):  # also by a worker of a cluster in another clone on this machine
        return "no run has claimed its task"
    if not number:
        return ""
    attempt = next((one for one in project.journal.attempts(task) if one.number == number), None)
    if attempt is None or attempt.status != "running":
        return "its attempt has ended"
    return "its run is dead" if is_owner_dead(attempt) else ""


def _explain_session(project: Project, marker: Marker) -> str:
    session = find_marked_session(project, marker)
    return "" if session is None or is_in_use(project, session) else "no process uses its session"


def _is_alive(pid: int) -> bool:
    with suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def _signal(trees: list[ProcessTree], kill: bool) -> None:
    """Signal the processes of these trees; psutil does not signal a pid that was used again."""
    for pid in (pid for tree in trees for pid in tree.pids):
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            if _has_marker(process, trees):
                (process.kill if kill else process.terminate)()


def _has_marker(process: psutil.Process, trees: list[ProcessTree]) -> bool:
    marker = process.environ().get("OSTLER_ATTEMPT", "")
    return any(marker.startswith(f"{tree.marker.store}:{tree.marker.task}:") for tree in trees)
