"""No process of a sandbox is left, whichever of its helpers is killed; signals and statuses are exact."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

import sandbox_driver
from ostler.model.command import Command, Exit, StopReason
from ostler.process.keeper import tree
from ostler.process.runner import DefaultCommandRunner
from world import wait_until

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
SECONDS = (
    3.0  # until nothing is left, on a busy machine; about 0.05 s on a quiet one, 1.1 s after the run died
)
# A daemon without variables in its own session, one that ignores SIGTERM, a stopped one, and the program.
PROGRAM = """#!/bin/sh
setsid env -i sleep 600 &
(trap "" TERM; while :; do sleep 600; done) &
sleep 601 & kill -STOP $!
echo ready
sleep 602
"""


class Attempt(NamedTuple):
    """The processes of one program in a sandbox, from outside to inside."""

    run: int
    forker: int
    keeper: int
    outer: int
    inner: int
    program: int
    others: tuple[int, ...]

    @property
    def processes(self) -> set[int]:
        """Those that must not be left."""
        return {self.keeper, self.outer, self.inner, self.program, *self.others}


@pytest.fixture
def attempt(tmp_path: Path) -> Iterator[Attempt]:
    place = tmp_path / "work"
    place.mkdir()
    (place / "program").write_text(PROGRAM)
    (place / "program").chmod(0o755)
    driver = subprocess.Popen(
        [sys.executable, sandbox_driver.__file__, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "ready\n"
        yield find_processes(driver.pid)
    finally:
        driver.kill()
        driver.communicate()


def find_processes(run: int) -> Attempt:
    """Return the processes below a run; the forker has a second keeper that waits for the next program."""
    (forker,) = [one for one in tree.list_children(run) if "keeper.forker" in read_command(one)]
    (keeper,) = [one for one in tree.list_children(forker) if tree.list_children(one)]
    (outer,) = tree.list_children(keeper)
    (inner,) = tree.list_children(outer)
    program = min(tree.list_children(inner))
    # The shell starts them in the background.
    wait_until(lambda: len(tree.list_descendants(inner)) > 4, 10.0, "the children of the program are missing")
    others = tuple(one for one in tree.list_descendants(inner) if one != program)
    return Attempt(run, forker, keeper, outer, inner, program, others)


def read_command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


KILLS = [("keeper",), ("outer",), ("run", "forker", "keeper")]
MORE_KILLS = [("run",), ("inner",), ("program",), ("forker", "keeper"), ("forker", "run"), ("run", "keeper")]


@pytest.mark.parametrize(
    "names", [*KILLS, *(pytest.param(one, marks=pytest.mark.full) for one in MORE_KILLS)], ids="+".join
)
def test_kills_leave_nothing(attempt: Attempt, names: tuple[str, ...]) -> None:
    """After SIGKILL of these processes at the same time, none of the attempt is left."""
    assert all(map(is_alive, attempt.processes))
    started = time.monotonic()
    for name in names:
        os.kill(getattr(attempt, name), signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, attempt.processes)), SECONDS, "processes are left")
    print(f"{'+'.join(names)}: {time.monotonic() - started:.3f} s")  # shown by pytest -rA


def test_a_killed_forker_changes_nothing(attempt: Attempt) -> None:
    """The program runs on: its keeper does not need the forker, and ends it when the run ends."""
    os.kill(attempt.forker, signal.SIGKILL)
    wait_until(lambda: not is_alive(attempt.forker), SECONDS, "the forker is left")
    time.sleep(0.1)
    assert all(map(is_alive, attempt.processes))
    os.kill(attempt.run, signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, attempt.processes)), SECONDS, "processes are left")


def run(command: Command) -> tuple[Exit, list[bytes]]:
    lines: list[bytes] = []

    def keep(line: bytes) -> bool:
        lines.append(line)
        return False

    return asyncio.run(DefaultCommandRunner().run(command, keep)), lines


@pytest.mark.parametrize(
    ("script", "status", "number"),
    [
        ("exit 0", 0, 0),
        ("exit 7", 7, 0),
        ("kill -KILL $$", 137, signal.SIGKILL),
        ("kill -SEGV $$", 139, signal.SIGSEGV),
        ("kill -TERM $$", 143, signal.SIGTERM),
        ("exec /nowhere", 127, 0),
    ],
)
def test_statuses(tmp_path: Path, script: str, status: int, number: int) -> None:
    """The status of the program inside is reported, and the signal that ended it."""
    ended, _ = run(sandbox_driver.create_command(tmp_path, "/bin/sh", "-c", script))
    assert (ended.status, ended.signal) == (status, number)
    assert ended.was_killed == (number in (signal.SIGKILL, signal.SIGTERM))


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    """A program that does not exist inside has the status that a shell would report."""
    ended, _ = run(sandbox_driver.create_command(tmp_path, "/nowhere/agent"))
    assert ended.status == 127
    assert ended.stderr_tail == "ostler: /nowhere/agent: No such file or directory\n"


def test_a_program_can_end_within_the_grace(tmp_path: Path) -> None:
    """SIGTERM reaches the program inside, and bubblewrap does not kill it before it has ended."""
    script = "trap 'sleep 0.2; echo ended; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    command = sandbox_driver.create_command(tmp_path, "/bin/sh", "-c", script, grace_seconds=5)
    ended, lines = run(_stop_soon(command))
    assert lines == [b"ready", b"ended"]
    assert (ended.status, ended.stopped) == (5, StopReason.TIMEOUT)


def test_a_program_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    """After the grace time everything inside is killed."""
    script = "trap '' TERM; while :; do sleep 0.05; done"
    ended, _ = run(
        _stop_soon(sandbox_driver.create_command(tmp_path, "/bin/sh", "-c", script, grace_seconds=0.2))
    )
    assert ended.stopped is StopReason.TIMEOUT
    assert ended.duration_seconds < 5


def _stop_soon(command: Command) -> Command:
    return replace(command, timeout_seconds=0.5)


def test_only_the_streams_are_inherited(tmp_path: Path) -> None:
    """The filter and other descriptors of the run are closed inside."""
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    try:
        _, lines = run(sandbox_driver.create_command(tmp_path, "/bin/ls", "/proc/self/fd"))
    finally:
        os.close(reader)
        os.close(writer)
    assert lines == [b"0", b"1", b"2", b"3"]  # 3 is the listed directory


def test_processes_of_a_start(tmp_path: Path) -> None:
    """A start has one process besides the program: bubblewrap has the number 1, the program the next."""
    show = "sh -c 'echo $$'"
    _, lines = run(
        sandbox_driver.create_command(tmp_path, "/bin/sh", "-c", f"echo $$; {show}; /bin/true; {show}")
    )
    assert lines == [
        b"2",
        b"3",
        b"5",
    ]  # the entry program became the program; each other process has a number


def test_variables_of_the_linker_are_inside_only(tmp_path: Path) -> None:
    """A library of the worktree is loaded by the program, never by bubblewrap, which runs outside."""
    command = sandbox_driver.create_command(tmp_path, "/bin/sh", "-c", "echo $LD_LIBRARY_PATH $OTHER")
    command = replace(command, env={**command.env, "LD_LIBRARY_PATH": "./lib", "OTHER": "x"})
    assert command.launcher is not None
    with command.launcher.launch(command) as started:
        assert "LD_LIBRARY_PATH" not in started.env
        assert started.env["OTHER"] == "x"
    assert run(command)[1] == [b"./lib x"]


INJECT = """
import fcntl, os, termios
print(os.isatty(0), sorted(os.listdir("/proc/self/fd")))
for request in (termios.TIOCSTI, termios.TIOCLINUX):
    try:
        fcntl.ioctl(0, request, b"x")
        print("injected")
    except PermissionError:
        print("refused")
"""


def test_a_terminal_takes_no_injected_input(tmp_path: Path) -> None:
    """A program that has our terminal cannot write into its input, which others would read."""
    argv = (os.path.realpath(sys.executable), "-I", "-c", INJECT)
    _, lines = run(replace(sandbox_driver.create_command(tmp_path, *argv), pty=True))
    assert [one.strip() for one in lines] == [b"True ['0', '1', '2', '3']", b"refused", b"refused"]
