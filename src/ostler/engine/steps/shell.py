"""A shell command that a person wrote into the settings, run with all that it starts; its output is kept."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from ostler.engine.steps.busy import busy
from ostler.engine.steps.tools import Case, Tools
from ostler.files.atomic import make_private_dir
from ostler.model.command import Command, Exit, Stopped
from ostler.process.environment import child_environment
from ostler.process.runner import DefaultCommandRunner
from ostler.process.sweep import MARKER

_ONE_STREAM = "exec 2>&1\n"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]")
_LONGEST_LINE = 300  # characters, of what a sentence quotes


class Shell(Struct, frozen=True):
    """What to run, where, for how long, and where its output goes."""

    command: str
    cwd: Path
    log: Path
    timeout_seconds: float


def marker_of(case: Case, tools: Tools) -> str:
    """How what a gate or a setup of this task started is known, should it outlive everything."""
    return f"{tools.writer.store_id}:{case.state.task}:gate"


async def run_shell(shell: Shell, case: Case, tools: Tools) -> Exit:
    """Run it to its end with the variables that every child may have; the task's lock lasts as long."""
    make_private_dir(shell.log.parent)
    shell.log.unlink(missing_ok=True)
    command = Command(
        argv=("/bin/sh", "-c", _ONE_STREAM + shell.command),
        cwd=str(shell.cwd),
        env=_environment(case, tools),
        transcript=str(shell.log),
        timeout_seconds=shell.timeout_seconds,
        idle_timeout_seconds=shell.timeout_seconds,
        grace_seconds=tools.settings.run.grace_seconds,
        nice=_nice(case, tools),
    )
    with busy(f"runs `{shell.command}`", case, tools, shell.log):
        return await DefaultCommandRunner(held=(case.lock,)).run(command, lambda line: False)


def went_wrong(shell: Shell, ended: Exit) -> str:
    """One sentence about a command that did not succeed."""
    if ended.stopped in (Stopped.TIMEOUT, Stopped.IDLE):
        return f"`{shell.command}` did not end within {shell.timeout_seconds:g} s and was stopped"
    if ended.oom_killed:
        return f"`{shell.command}` was killed because the machine ran out of memory"
    how = f"was ended by signal {-ended.status}" if ended.status < 0 else f"exited with {ended.status}"
    last = last_line(read_end(shell.log, 8192))
    return f"`{shell.command}` {how}" + (f": {last}" if last else "")


def read_end(path: Path, size: int) -> str:
    """The last bytes of a file as text, from the beginning of a line; empty when there is none."""
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
    """The last line that says something, fit for a sentence."""
    lines = (without_control(line).strip() for line in reversed(text.splitlines()))
    return next(filter(None, lines), "")[:_LONGEST_LINE]


def without_control(text: str) -> str:
    """The text as a terminal would show it, without colour."""
    return _CONTROL.sub("", text)


def _environment(case: Case, tools: Tools) -> dict[str, str]:
    mark = {MARKER: marker_of(case, tools)}
    return child_environment(tools.environ, tools.settings.sandbox.env_allow, mark)


def _nice(case: Case, tools: Tools) -> int:
    """As for the task's agents."""
    slots = tools.stable().slots
    return slots.pools[slots.pool_name(case.task.feature, case.task.priority)].nice
