"""The machine and the attempts that run on it (ostler.machine/1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.model.attempt import Attempt


class MemoryView(Struct, frozen=True):
    total_mb: int | None  # None: unknown on this system
    available_mb: int | None
    floor_mb: int  # below it, no further agent is started


class PoolView(Struct, frozen=True):
    name: str
    size: int
    nice: int
    memory_mb: int  # limit per agent
    active: int
    queued: int


class RunView(Struct, frozen=True):
    pid: int
    since: str


class RunningAttemptView(Struct, frozen=True):
    """A running attempt."""

    task: str
    number: int
    phase: str
    executor: str
    model: str
    started_at: str
    memory_mb: int | None  # None: no process found


class MachineView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.machine/1"
    memory: MemoryView
    load: tuple[float, ...]  # load averages of 1, 5 and 15 minutes
    cpus: int
    pools: tuple[PoolView, ...]
    runs: tuple[RunView, ...]
    attempts: tuple[RunningAttemptView, ...]


def view_attempts(
    attempts: Iterable[Attempt], memory_mb: Mapping[tuple[str, int], int]
) -> tuple[RunningAttemptView, ...]:
    return tuple(
        RunningAttemptView(
            one.task,
            one.number,
            one.phase,
            one.executor,
            one.model,
            format_rfc3339(one.started_at),
            memory_mb.get((one.task, one.number)),
        )
        for one in attempts
    )
