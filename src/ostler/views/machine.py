"""The machine and what works on it (ostler.machine/1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ostler.clock import rfc3339
from ostler.model.attempt import Attempt


class MemoryView(Struct, frozen=True):
    total_mb: int | None  # None: the system does not say
    available_mb: int | None
    floor_mb: int  # below it, no further agent is started


class PoolView(Struct, frozen=True):
    name: str
    size: int
    nice: int
    memory_mb: int  # an agent that takes more is stopped
    active: int
    queued: int


class RunView(Struct, frozen=True):
    pid: int
    since: str


class WorkView(Struct, frozen=True):
    """An attempt that is under way."""

    task: str
    number: int
    phase: str
    executor: str
    model: str
    started_at: str
    memory_mb: int | None  # None: no process of it is seen


class MachineView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.machine/1"
    memory: MemoryView
    load: tuple[float, ...]  # over 1, 5 and 15 minutes
    cpus: int
    pools: tuple[PoolView, ...]
    runs: tuple[RunView, ...]
    attempts: tuple[WorkView, ...]


def view_work(attempts: Iterable[Attempt], memory_mb: Mapping[tuple[str, int], int]) -> tuple[WorkView, ...]:
    return tuple(
        WorkView(
            one.task,
            one.number,
            one.phase,
            one.executor,
            one.model,
            rfc3339(one.started_at),
            memory_mb.get((one.task, one.number)),
        )
        for one in attempts
    )
