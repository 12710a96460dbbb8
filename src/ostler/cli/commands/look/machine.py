"""ostler machine"""

from __future__ import annotations

import time
from datetime import datetime

import click
from msgspec import to_builtins

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import format_duration, format_table, format_timestamp
from ostler.project.inspection.machine import read_machine
from ostler.views.machine import MachineView, MemoryView, PoolView, RunningAttemptView


@click.command("machine")
@json_option
def command(as_json: bool) -> None:
    """Show memory, load, worker slots, active runs and running attempts."""
    with open_project() as project:
        view = read_machine(project, {})
    if as_json:
        print_json(to_builtins(view))
        return
    print_text(f"Memory  {_describe_memory(view.memory)}")
    print_text(f"Load    {', '.join(f'{one:.2f}' for one in view.load)} on {_describe_cpus(view)}")
    for run in view.runs:
        print_text(f"Run     process {run.pid}, since {format_timestamp(run.since)}")
    header = ("pool", "running", "slots", "memory per agent", "nice")
    print_text("\n" + format_table(header, [_format_pool(one) for one in view.pools]))
    if not view.attempts:
        print_text("\nNo attempt is running.")
        return
    titles = ("task", "attempt", "phase", "agent", "running for", "memory")
    print_text("\n" + format_table(titles, [_format_attempt(one) for one in view.attempts]))


def _describe_memory(memory: MemoryView) -> str:
    if memory.total_mb is None or memory.available_mb is None:
        return "unknown"
    free = f"{memory.available_mb} MB of {memory.total_mb} MB available"
    return f"{free}; no agent starts below {memory.floor_mb} MB" if memory.floor_mb else free


def _describe_cpus(view: MachineView) -> str:
    return "1 CPU" if view.cpus == 1 else f"{view.cpus} CPUs"


def _format_pool(pool: PoolView) -> tuple[str, ...]:
    limit = f"{pool.memory_mb} MB" if pool.memory_mb else "no limit"
    return pool.name, str(pool.active), str(pool.size), limit, str(pool.nice)


def _format_attempt(attempt: RunningAttemptView) -> tuple[str, ...]:
    age = time.time() - datetime.fromisoformat(attempt.started_at).timestamp()
    agent = f"{attempt.executor} {attempt.model}".strip()
    memory = f"{attempt.memory_mb} MB" if attempt.memory_mb is not None else ""
    return attempt.task, str(attempt.number), attempt.phase, agent, format_duration(age), memory
