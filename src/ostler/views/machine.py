"""The machine and the attempts that run on it (ostler.machine/1)."""

from __future__ import annotations

from msgspec import Struct


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
    id: str = ""  # for `ostler kill`
    pid: int | None = None  # of the agent; None: no process found
    age_seconds: float = 0.0
    cpu_seconds: float | None = None  # of the agent and all its processes
    cpu_percent: float | None = None  # of one core, average since the start
    idle_seconds: float | None = None  # since its last output; None: no output yet
    pool: str = ""
    project: str = ""


class OtherProcessView(Struct, frozen=True):
    """A running gate or setup command, or a session without a task."""

    task: str  # or the id of the session
    program: str
    pid: int
    started_at: str
    age_seconds: float
    cpu_seconds: float
    cpu_percent: float
    memory_mb: int
    kind: str = "gate"  # also for setup commands; "session"


class OrphanView(Struct, frozen=True):
    """Processes whose run is dead."""

    task: str
    attempt: int | None  # None: a gate or setup command
    program: str
    pids: tuple[int, ...]
    started_at: str
    memory_mb: int
    reason: str


class ProcessesView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.processes/1"
    attempts: tuple[RunningAttemptView, ...]
    others: tuple[OtherProcessView, ...]


class MachineView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.machine/1"
    memory: MemoryView
    load: tuple[float, ...]  # load averages of 1, 5 and 15 minutes
    cpus: int
    pools: tuple[PoolView, ...]
    runs: tuple[RunView, ...]
    attempts: tuple[RunningAttemptView, ...]
