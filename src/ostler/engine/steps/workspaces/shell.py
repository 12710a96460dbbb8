"""Runs a shell command of the settings and keeps its output."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ostler.engine.steps.progress import report_progress
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.files.atomic import make_private_dir
from ostler.model.command import Command, Exit, Launcher, StopReason
from ostler.process.environment import build_child_environment
from ostler.process.runner import DefaultCommandRunner
from ostler.process.sweep import MARKER
from ostler.sandbox.launch import Launch
from ostler.text import strip_control_characters

_ONE_STREAM = "exec 2>&1\n"
_LONGEST_LINE = 300  # characters of a line that a message quotes


class ShellCommand(Struct, frozen=True):
    """A shell command, its directory, log and timeout."""

    command: str
    cwd: Path
    log: Path
    timeout_seconds: float
    shown: str = ""  # what messages call it; empty: the command

    @property
    def title(self) -> str:
        return self.shown or self.command


def process_marker(context: TaskContext, services: StepServices) -> str:
    """Return the marker of processes that a gate or setup of this task started."""
    return f"{services.writer.store_id}:{context.state.task}:gate"


async def run_shell(
    shell: ShellCommand,
    context: TaskContext,
    services: StepServices,
    launch: Launch | None = None,
    launcher: Launcher | None = None,
) -> Exit:
    """Run the command; its processes hold the task's lock while they are alive.

    `launcher`: starts it in a sandbox, whose variables are those of `launch`.
    """
    launch = launch or Launch()
    make_private_dir(shell.log.parent)
    shell.log.unlink(missing_ok=True)
    command = Command(
        argv=(*launch.prefix, "/bin/sh", "-c", launch.prelude + _ONE_STREAM + shell.command),
        cwd=str(shell.cwd),
        env=launch.env if launcher else build_shell_environment(context, services) | launch.env,
        transcript=str(shell.log),
        timeout_seconds=shell.timeout_seconds,
        idle_timeout_seconds=shell.timeout_seconds,
        grace_seconds=services.settings.run.grace_seconds,
        nice=_nice(context, services),
        launcher=launcher,
    )
    with report_progress(f"running `{shell.title}`", context, services, shell.log):
        return await DefaultCommandRunner(held=(context.lock,)).run(command, lambda line: False)


def describe_failure(shell: ShellCommand, ended: Exit) -> str:
    """Return a message about a command that failed."""
    if ended.stopped in (StopReason.TIMEOUT, StopReason.IDLE):
        return f"`{shell.title}` did not exit within {shell.timeout_seconds:g} s and was stopped"
    if ended.stopped in (StopReason.DISK, StopReason.MEMORY):
        return f"`{shell.title}` was stopped: {ended.reason}"
    if ended.oom_killed:
        return f"`{shell.title}` was killed because the machine is out of memory"
    killed = ended.was_killed or ended.status < 0
    how = f"was killed by signal {ended.signal}" if killed else f"exited with {ended.status}"
    last = last_line(read_end(shell.log, 8192))
    return f"`{shell.title}` {how}" + (f": {last}" if last else "")


def read_end(path: Path, size: int) -> str:
    """Return the last bytes of a file as text, from the start of a line; empty if it does not exist."""
    try:
        with path.open("rb") as file:
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - size))
            tail = file.read(size)
    except FileNotFoundError:
        return ""
    if length > size and b"\n" in tail:
        tail = tail.partition(b"\n")[2]
    return tail.decode("utf-8", "replace")


def last_line(text: str) -> str:
    """Return the last line that is not blank, shortened for a message."""
    lines = (strip_control_characters(line).strip() for line in reversed(text.splitlines()))
    return next(filter(None, lines), "")[:_LONGEST_LINE]


def build_shell_environment(context: TaskContext, services: StepServices) -> dict[str, str]:
    """Return the variables of a gate or setup command."""
    mark = {MARKER: process_marker(context, services)}
    return build_child_environment(services.environ, services.settings.sandbox.env_allow, mark)


def _nice(context: TaskContext, services: StepServices) -> int:
    """Return the niceness of the task's agents."""
    slots = services.get_call_services().slots
    return slots.pools[slots.pool_name(context.task.feature, context.task.priority)].nice
