"""Real programs at their limits: processes, memory, file size and disk."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors.exit_status import classify_exit
from ostler.model.command import Command, Exit, StopReason
from ostler.process.runner import DefaultCommandRunner
from ostler.process.sweep import MARKER
from ostler.sandbox.box.box import Limits
from ostler.sandbox.limits import cgroup as groups
from ostler.sandbox.limits.disk import DiskWatch
from ostler.sandbox.limits.disk_use import measure_disk_use
from ostler.sandbox.limits.limited import DiskLimit, LimitedLauncher, hold_cgroup, join_cgroup
from ostler.sandbox.limits.places import find_places, list_places
from ostler.sandbox.limits.rlimits import count_user_threads, list_rlimits
from other_user import run_as_other_user

ENV = {"PATH": os.environ["PATH"], MARKER: "store:T7:3"}
BWRAP = ("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent", "--")
PYTHON = "/usr/bin/python3"  # that every user can run
HOG = "import time; hoard = b'x' * ({mb} << 20); print('full', flush=True); time.sleep({seconds})"
needs_cgroup = pytest.mark.skipif(not find_places(), reason="no control group can be created here")
needs_bwrap = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")


def python(script: str, **changes: object) -> Command:
    argv = (sys.executable, "-S", "-E", "-c", script)
    return Command(**{"argv": argv, "cwd": "/", "env": ENV, "grace_seconds": 0.2, **changes})


def run(command: Command) -> tuple[Exit, list[str]]:
    lines: list[str] = []
    ended = asyncio.run(DefaultCommandRunner().run(command, lambda line: bool(lines.append(line.decode()))))
    return ended, lines


class Grouped:
    """A launcher that only adds the control group."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    @contextmanager
    def launch(self, command: Command) -> Iterator[Command]:
        with hold_cgroup(command, self.limits) as cgroup:
            assert cgroup is not None
            yield join_cgroup(command, cgroup)


def list_groups() -> list[str]:
    return [one.name for place in find_places() for one in place.directory.glob(f"ostler-*-{os.getpid()}-*")]


FORK = """if True:
    import os, time
    count = 0
    try:
        while count < 60:
            if os.fork() == 0:
                os.closerange(0, 3)
                time.sleep(5)
                os._exit(0)
            count += 1
    except BlockingIOError:
        pass
    print(count)"""


@needs_cgroup
def test_no_more_processes_than_the_limit() -> None:
    """A program that forks 60 times gets an error before its 20th process; nothing is left afterwards."""
    ended, lines = run(python(FORK, launcher=Grouped(Limits(processes=20))))
    assert 10 <= int(lines[0]) < 20
    assert ended.leftovers
    assert list_groups() == []
    assert run(python(FORK))[1] == ["60"]  # without the limit


@needs_cgroup
@pytest.mark.parametrize("prefix", [(), pytest.param(BWRAP, marks=needs_bwrap)])
def test_the_kernel_ends_a_program_that_grows_fast(prefix: tuple[str, ...]) -> None:
    """It ends as AGENT_OOM by the counter of its own group, also where bubblewrap exits with 137."""
    command = python(HOG.format(mb=300, seconds=5), launcher=Grouped(Limits(memory_mb=50)), memory_mb=900)
    ended, lines = run(replace(command, argv=(*prefix, *command.argv)))
    assert lines == []
    assert ended.oom_killed
    assert ended.status == (137 if prefix else -9)
    ending = classify_exit(ended, "claude")
    assert ending.code is Code.AGENT_OOM
    assert "at the limit of its memory" in ending.message
    assert ending.message.endswith("memory_mb of its pool is 900")
    assert list_groups() == []


@needs_bwrap
def test_the_sampler_counts_processes_in_bubblewrap() -> None:
    """A grandchild inside uses the memory: the program is stopped above memory_mb of its pool."""
    inner = HOG.format(mb=200, seconds=30)
    command = python(
        f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {inner!r}])", memory_mb=80
    )
    ended, _ = run(replace(command, argv=(*BWRAP, *command.argv)))
    assert ended.stopped is StopReason.MEMORY
    assert (ended.peak_memory_mb or 0) > 80


@needs_cgroup
def test_a_kill_in_one_group_is_not_that_of_another() -> None:
    """A program that is killed for another reason is not out of memory, though its neighbour was."""
    quiet = python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    run(python(HOG.format(mb=300, seconds=5), launcher=Grouped(Limits(memory_mb=50))))
    ended, _ = run(replace(quiet, launcher=Grouped(Limits(memory_mb=50))))
    assert ended.status == -9
    assert not ended.oom_killed


@needs_cgroup
def test_a_program_without_its_limits_is_not_started() -> None:
    """The group cannot be joined: the program exits with an error that names the group."""
    gone = groups.Cgroup((Path("/sys/fs/cgroup/ostler-gone"),))
    ended, lines = run(join_cgroup(python("print('started')"), gone))
    assert (ended.status, lines) == (125, [])
    assert "cannot join the control group /sys/fs/cgroup/ostler-gone" in ended.stderr_tail


@needs_cgroup
def test_groups_of_a_dead_run_are_swept() -> None:
    """A killed run leaves its group; those of living runs stay."""
    kept = groups.prepare_cgroup("T1:1", Limits())
    assert kept is not None
    try:
        if (pid := os.fork()) == 0:
            groups.prepare_cgroup("T2:1", Limits())
            os._exit(0)
        os.waitpid(pid, 0)
        assert groups.sweep_cgroups() == 1
        assert list_groups() == [one.name for one in kept.directories]
    finally:
        assert kept.remove()


def test_another_user_has_no_group_and_gets_resource_limits() -> None:
    """An ordinary user on a system without delegation is limited by the number of processes of the user."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    assert run_as_other_user(lambda: list_places(lines)) == []
    # Other tests run programs as nobody meanwhile; this user has only the one process.
    found, threads = run_as_other_user(_limit_and_count, user=60000 + os.getpid() % 5000)
    assert threads == 1 or os.getuid() != 0
    assert found["RLIMIT_NPROC"] == 30 + threads
    assert found["RLIMIT_FSIZE"] == 4096 << 20
    assert found["RLIMIT_CORE"] == 0


def _limit_and_count() -> tuple[dict[str, int], int]:
    return list_rlimits(Limits(processes=30), False, False), count_user_threads()


def test_resource_limits_with_a_group_or_a_namespace() -> None:
    """A group limits processes better; in a user namespace only its own processes count."""
    assert "RLIMIT_NPROC" not in list_rlimits(Limits(), True, False)
    assert list_rlimits(Limits(processes=30), False, True)["RLIMIT_NPROC"] == 30


def test_a_program_that_fills_the_disk_is_stopped(tmp_path: Path) -> None:
    """The message has the setting, the use and the largest directory; the code is DISK_LIMIT."""
    (tmp_path / "small").mkdir()
    write = "open('target/big', 'wb').write(b'x' * (12 << 20))"
    script = f"import time; {write}; time.sleep(60)"
    (tmp_path / "target").mkdir()
    watch = DiskWatch((tmp_path,), 10, poll_seconds=0.05)
    ended, _ = run(python(script, cwd=str(tmp_path), watches=(watch,)))
    assert ended.stopped is StopReason.DISK
    ending = classify_exit(ended, "claude")
    assert ending.code is Code.DISK_LIMIT
    assert "and sandbox.max_disk_mb is 10" in ending.message
    assert re.search(rf"; largest: {tmp_path}/target 1[012] MB", ending.message)


def test_a_program_below_the_limit_is_not_stopped(tmp_path: Path) -> None:
    """A sparse file and a link to a large directory do not count."""
    script = "import os, time; os.truncate('sparse', 1 << 30); os.symlink('/usr', 'link'); time.sleep(0.3)"
    (tmp_path / "sparse").touch()
    watch = DiskWatch((tmp_path,), 10, poll_seconds=0.05)
    ended, _ = run(python(script, cwd=str(tmp_path), watches=(watch,)))
    assert (ended.status, ended.stopped) == (0, None)
    assert measure_disk_use((tmp_path,)).total < 1 << 20


def test_a_watch_that_fails_stops_the_program() -> None:
    """An error of a watch is raised when the program has ended: it does not run unwatched."""

    class Broken:
        async def wait_for_excess(self) -> None:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        run(python("import time; time.sleep(60)", watches=(Broken(),)))


def test_hard_links_count_once(tmp_path: Path) -> None:
    """Ten links to a file of 1 MB use 1 MB."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "file").write_bytes(b"x" * (1 << 20))
    for number in range(10):
        os.link(tmp_path / "d" / "file", tmp_path / "d" / str(number))
    assert 1 << 20 <= measure_disk_use((tmp_path,)).total < 2 << 20


def test_the_tier_limits_needs_no_namespaces(tmp_path: Path) -> None:
    """Processes, memory, file size and disk are limited; nothing else is changed."""
    disk = DiskLimit((tmp_path,), 100)
    launcher = LimitedLauncher(None, Limits(processes=20, file_mb=1, memory_mb=500), disk)
    script = "head -c 3000000 /dev/zero > big; wc -c < big; ulimit -c; cat /proc/self/cgroup"
    command = Command(("/bin/sh", "-c", script), str(tmp_path), ENV, launcher=launcher)
    ended, lines = run(command)
    assert ended.status == 0
    assert lines[:2] == [str(1 << 20), "0"]
    assert ("T7-3" in "".join(lines)) == bool(find_places())
    assert list_groups() == []


def test_another_user_is_limited_without_a_group() -> None:
    """The kernel counts the processes of the user: 20 more than there are now."""

    def count() -> int:
        limits = list_rlimits(Limits(processes=20), False, own_user_namespace=False)
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, name), (value, value))
        return int(subprocess.run([PYTHON, "-S", "-c", FORK], capture_output=True, check=True).stdout)

    assert run_as_other_user(count) < 20
