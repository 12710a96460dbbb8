"""Runs a command with a control group and a watch of its disk use, in any tier."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.command import Command, Launcher
from ostler.process.sweep import MARKER
from ostler.sandbox.box.box import Limits
from ostler.sandbox.box.restrictions import Restrictions, wrap_with_restrictions
from ostler.sandbox.limits.cgroup import Cgroup, prepare_cgroup, sweep_once
from ostler.sandbox.limits.disk import DiskWatch
from ostler.sandbox.limits.rlimits import list_rlimits

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
    sweep_once()
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


class DiskLimit(Struct, frozen=True):
    """Directories of a task, and how much they may use together."""

    directories: tuple[Path, ...]
    limit_mb: int


class LimitedLauncher(Struct, frozen=True):
    """Adds the limits to another launcher; without one, the program is started as it is."""

    inner: Launcher | None
    limits: Limits
    disk: DiskLimit
    # False: the engine of the containers limits processes and memory.
    uses_cgroup: bool = True

    @contextmanager
    def launch(self, command: Command) -> Generator[Command]:
        """See Launcher.launch."""
        group = hold_cgroup(command, self.limits) if self.uses_cgroup else nullcontext()
        with group as cgroup, self._launch_inner(command, cgroup) as started:
            watch = DiskWatch(self.disk.directories, self.disk.limit_mb)
            yield replace(join_cgroup(started, cgroup), watches=(*started.watches, watch))

    def _launch_inner(self, command: Command, cgroup: Cgroup | None) -> AbstractContextManager[Command]:
        if self.inner is not None:
            return self.inner.launch(command)
        has_group = cgroup is not None and cgroup.limits_processes
        rlimits = list_rlimits(self.limits, has_group, own_user_namespace=False)
        return nullcontext(
            replace(command, argv=(*wrap_with_restrictions(Restrictions(rlimits)), *command.argv))
        )
