"""Reads the machine: memory, worker slots, runs and attempts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping

from ostler.calls.host import get_free_memory_mb
from ostler.calls.models.slots import PoolStats, WorkerPool
from ostler.clock import SystemClock
from ostler.model.attempt import Attempt
from ostler.project.processes.running import list_running_attempts, view_running
from ostler.project.project import Project
from ostler.project.running.active_runs import list_active_runs
from ostler.views.machine import MachineView, MemoryView, PoolView, RunView


def read_machine(project: Project, pools: Mapping[str, PoolStats]) -> MachineView:
    """Return the state of the machine; `pools` is the usage of the slots of a run in this process."""
    attempts = list_running_attempts(project)
    return MachineView(
        memory=_memory(project.settings.host.min_free_memory_mb),
        load=os.getloadavg(),
        cpus=os.cpu_count() or 1,
        pools=_pools(project, pools, attempts),
        runs=tuple(RunView(run.pid, run.since) for run in list_active_runs(project.layout)),
        attempts=view_running(project, attempts) if attempts else (),
    )


def _memory(floor_mb: int) -> MemoryView:
    import psutil  # noqa: PLC0415  (takes 30 ms)

    return MemoryView(psutil.virtual_memory().total // 2**20, get_free_memory_mb(), floor_mb)


def _pools(project: Project, stats: Mapping[str, PoolStats], attempts: list[Attempt]) -> tuple[PoolView, ...]:
    """Return the worker slots of this server's run; without one, count running attempts."""
    pool = WorkerPool(project.settings.pools, SystemClock())
    counted = Counter(project.name_pool(project.task(attempt.task)) for attempt in attempts)
    shown: list[PoolView] = []
    for name, facts in pool.pools.items():
        now = stats.get(name)
        active, queued = (now.active, now.queued) if now else (counted[name], 0)
        size = now.limit if now else facts.size
        shown.append(PoolView(name, size, facts.nice, facts.memory_mb, active, queued))
    return tuple(shown)
