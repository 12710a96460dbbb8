"""Tables of running attempts, other processes and orphans."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from ostler.cli.terminal.text import format_span, format_table, to_one_line
from ostler.views.machine import OrphanView, ProcessesView

_HEADER = ("ATTEMPT", "PHASE", "AGENT", "PID", "AGE", "CPU", "MEMORY", "IDLE", "POOL", "MODEL", "PROJECT")
_ORPHANS = ("ATTEMPT", "PROGRAM", "PIDS", "AGE", "MEMORY", "REASON")


def format_processes(view: ProcessesView, with_project: bool = False) -> str:
    """Format the attempts, then the gate and setup commands."""
    rows = [
        (
            one.id,
            one.phase,
            to_one_line(one.executor),
            str(one.pid or ""),
            format_span(one.age_seconds),
            _percent(one.cpu_percent),
            _megabytes(one.memory_mb),
            "" if one.idle_seconds is None else format_span(one.idle_seconds),
            one.pool,
            to_one_line(one.model),
            to_one_line(one.project) if with_project else "",
        )
        for one in view.attempts
    ]
    others = [
        (
            one.task,
            one.kind,
            to_one_line(one.program),
            str(one.pid),
            format_span(one.age_seconds),
            _percent(one.cpu_percent),
            _megabytes(one.memory_mb),
            *("", "", "", ""),
        )
        for one in view.others
    ]
    return format_table(_HEADER, [*rows, *others], optional=("POOL", "IDLE"))


def format_orphans(orphans: Sequence[OrphanView]) -> str:
    rows = [
        (
            f"{one.task}:{one.attempt}" if one.attempt else one.task,
            to_one_line(one.program),
            ", ".join(map(str, one.pids)),
            format_span(time.time() - datetime.fromisoformat(one.started_at).timestamp()),
            _megabytes(one.memory_mb),
            one.reason,
        )
        for one in orphans
    ]
    return format_table(_ORPHANS, rows)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}%"


def _megabytes(value: int | None) -> str:
    return "" if value is None else f"{value} MB"
