"""Runs a command with a control group and a watch of its disk use, in any tier."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from ostler.model.command import Command
from ostler.process.sweep import MARKER
from ostler.sandbox.box.box import Limits
from ostler.sandbox.limits.cgroup import Cgroup, prepare_cgroup
from ostler.sandbox.limits.disk import DiskWatch

# The shell joins the groups with all that it starts; a program without its limits is not started.
_JOIN = """
until test "$1" = --; do
  { echo 0 > "$1"; } 2>/dev/null || { echo "ostler: cannot join the control group $1" >&2; exit 125; }
  shift
done
shift
exec "$@"
"""


@contextmanager
def hold_cgroup(command: Command, limits: Limits) -> Generator[Cgroup | None]:
    """Create the control group of a command, named by its task and attempt, and remove it afterwards."""
    _, _, name = command.env.get(MARKER, "").partition(":")
    cgroup = prepare_cgroup(name or "command", limits)
    try:
        yield cgroup
    finally:
        if cgroup:
            cgroup.remove()


def join_cgroup(command: Command, cgroup: Cgroup | None) -> Command:
    """Return the command that joins the group before it starts."""
    if cgroup is None:
        return command
    return replace(
        command,
        argv=("/bin/sh", "-c", _JOIN, "sh", *map(str, cgroup.procs), "--", *command.argv),
        oom_counter=str(cgroup.oom_counter or ""),
    )


def watch_disk(command: Command, directories: tuple[Path, ...], limit_mb: int) -> Command:
    """Return the command that is stopped when the directories use more than the limit."""
    return replace(command, watches=(*command.watches, DiskWatch(directories, limit_mb)))
