"""The machine over HTTP: its memory, the places for agents, and who is at work."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping

from ostler.clock import SystemClock
from ostler.model.attempt import Attempt
from ostler.model.ids import TaskId
from ostler.process.marked import processes_by_marker
from ostler.process.memory import most_kb
from ostler.project.at_work import runs_at_work
from ostler.project.project import Project
from ostler.views.machine import MachineView, MemoryView, PoolView, RunView, view_work
from ostler.web.route import Asked, Nothing
from ostler.web.site import Site
from ostler.worker.host import get_room_mb
from ostler.worker.slots import PoolStats, WorkerPool


def show_machine(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> MachineView:
    attempts = _at_work(project)
    return MachineView(
        memory=_memory(project.settings.host.min_free_memory_mb),
        load=os.getloadavg(),
        cpus=os.cpu_count() or 1,
        pools=_pools(project, site.pools(), attempts),
        runs=tuple(RunView(run.pid, run.since) for run in runs_at_work(project.layout)),
        attempts=view_work(attempts, _taken_mb(project, attempts)),
    )


def _at_work(project: Project) -> list[Attempt]:
    """The attempts that run; one whose run has died does not."""
    newest = (project.journal.attempts(task)[-1:] for task in _carried(project))
    return [attempt for found in newest for attempt in found if attempt.status == "running"]


def _carried(project: Project) -> list[TaskId]:
    return [task for task in project.journal.listing.running() if project.in_hand(task)]


def _memory(floor_mb: int) -> MemoryView:
    import psutil  # noqa: PLC0415  (30 ms, when it is first asked for)

    return MemoryView(psutil.virtual_memory().total // 2**20, get_room_mb(), floor_mb)


def _pools(project: Project, stats: Mapping[str, PoolStats], attempts: list[Attempt]) -> tuple[PoolView, ...]:
    """As the run of this server has them; without one, counted from what is at work."""
    pool = WorkerPool(project.settings.pools, SystemClock())
    counted = Counter(_pool_of(pool, project, attempt) for attempt in attempts)
    shown: list[PoolView] = []
    for name, facts in pool.pools.items():
        now = stats.get(name)
        active, queued = (now.active, now.queued) if now else (counted[name], 0)
        size = now.limit if now else facts.size
        shown.append(PoolView(name, size, facts.nice, facts.memory_mb, active, queued))
    return tuple(shown)


def _pool_of(pool: WorkerPool, project: Project, attempt: Attempt) -> str:
    task = project.task(attempt.task)
    return pool.pool_name(task.feature, task.priority)


def _taken_mb(project: Project, attempts: list[Attempt]) -> dict[tuple[str, int], int]:
    if not attempts:
        return {}
    pids, store = processes_by_marker(), project.journal.store_id
    named = {(one.task, one.number): pids.get(f"{store}:{one.task}:{one.number}", []) for one in attempts}
    return {name: most_kb(found) // 1024 for name, found in named.items() if found}
