"""The processes of one attempt or gate, found by the marker in their environment, and what they use."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil
from msgspec import Struct

from ostler.process.memory import estimate_memory_kb
from ostler.process.sweep import find_marked_processes

GATE = "gate"  # in the marker of gate and setup commands, instead of the number of an attempt


class Marker(Struct, frozen=True):
    """What the variable OSTLER_ATTEMPT of a process contains."""

    store: str  # id of the project's journal
    task: str
    number: int  # of the attempt; 0: a gate or setup command

    @property
    def attempt(self) -> str:
        """The id of the attempt, as `ostler ps` shows it."""
        return f"{self.task}:{self.number}"


class ProcessTree(Struct, frozen=True):
    """The processes with one marker."""

    marker: Marker
    pids: tuple[int, ...]
    pid: int  # of the first one
    program: str  # its name
    started_at: float
    cpu_seconds: float  # of all of them and of their ended children
    memory_mb: int
    project: str  # OSTLER_PROJECT; empty for gates

    def cpu_percent(self, now: float) -> float:
        """Return the average use of one core since the start."""
        return round(100 * self.cpu_seconds / max(0.1, now - self.started_at), 1)


def find_trees() -> list[ProcessTree]:
    """Return the processes of all projects of this user, the oldest first."""
    markers = {parse_marker(text): pids for text, pids in find_marked_processes().items()}
    trees = [_measure(marker, pids) for marker, pids in markers.items() if marker is not None]
    return sorted((tree for tree in trees if tree is not None), key=lambda tree: tree.started_at)


def parse_marker(text: str) -> Marker | None:
    """Return the parts of a marker; None for one that Ostler did not make."""
    store, _, rest = text.partition(":")
    task, _, number = rest.rpartition(":")
    if not (store and task and (number == GATE or (number.isascii() and number.isdecimal()))):
        return None
    return Marker(store, task, 0 if number == GATE else int(number))


def _measure(marker: Marker, pids: Iterable[int]) -> ProcessTree | None:
    """Return what the processes use; None if all have ended meanwhile."""
    found = sorted(filter(None, map(_read, pids)), key=lambda one: one.started_at)
    if not found:
        return None
    first = found[0]
    return ProcessTree(
        marker,
        tuple(one.pid for one in found),
        first.pid,
        first.program,
        first.started_at,
        sum(one.cpu_seconds for one in found),
        estimate_memory_kb(one.pid for one in found) // 1024,
        first.project,
    )


class _Process(Struct, frozen=True):
    pid: int
    program: str
    started_at: float
    cpu_seconds: float
    project: str


def _read(pid: int) -> _Process | None:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            cpu = process.cpu_times()
            used = sum((cpu.user, cpu.system, cpu.children_user, cpu.children_system))
            project = process.environ().get("OSTLER_PROJECT", "")
            return _Process(pid, process.name(), process.create_time(), used, project)
    return None


def idle_seconds(transcript: Path) -> float | None:
    """Return how long an attempt has printed nothing; None if it has not started to print."""
    times: list[float] = []
    for path in (transcript, transcript.with_name(f"{transcript.name}.stderr")):
        with suppress(OSError):
            found = path.stat()
            times.extend([found.st_mtime] if found.st_size else [])
    return round(max(0.0, time.time() - max(times)), 1) if times else None
