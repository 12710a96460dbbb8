"""The memory of real programs and all their processes: measured, limited, and classified."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ostler.errors import Code
from ostler.executors.exit_status import classify_exit
from ostler.model.command import Command, Exit, StopReason
from ostler.process import memory
from ostler.process.forker_client import shared_forker
from ostler.process.runner import DefaultCommandRunner
from world import wait_until

ENV = {"PATH": os.environ["PATH"]}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
HOG = "import time; hoard = b'x' * ({mb} << 20); print('full', flush=True); time.sleep({seconds})"


def python(script: str, **changes: object) -> Command:
    argv = (sys.executable, "-S", "-E", "-c", script)
    return Command(**{"argv": argv, "cwd": "/", "env": ENV, "grace_seconds": 0.2, **changes})


def run(command: Command) -> tuple[Exit, list[str]]:
    lines: list[str] = []
    ended = asyncio.run(DefaultCommandRunner().run(command, lambda line: bool(lines.append(line.decode()))))
    return ended, lines


def alive(mark: str) -> list[int]:
    """Return the processes with this text on their command line."""
    found = [process for process in psutil.process_iter(["cmdline"]) if process.pid != os.getpid()]
    return [process.pid for process in found if mark in " ".join(process.info["cmdline"] or ())]


def test_too_much_memory_is_stopped_with_the_figures() -> None:
    """300 MB with a limit of 100 end within seconds as AGENT_OOM, and the message has both numbers."""
    began = time.monotonic()
    ended, _ = run(python(HOG.format(mb=300, seconds=60), memory_mb=100))
    assert ended.stopped is StopReason.MEMORY
    assert time.monotonic() - began < 30
    assert 100 < (ended.peak_memory_mb or 0) < 400
    ending = classify_exit(ended, "claude")
    assert ending.code is Code.AGENT_OOM
    assert f"used {ended.peak_memory_mb} MB, and memory_mb of its pool is 100" in ending.message


@pytest.mark.parametrize("leader", ["", "os.setsid();"])
def test_a_grandchild_counts_for_its_agent(leader: str) -> None:
    """A grandchild uses the memory, also in its own session; all three are stopped."""
    mark = f"hog-{os.getpid()}-{bool(leader)}"
    inner = f"import os; {leader} {HOG.format(mb=300, seconds=60)}"
    middle = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {inner!r}, {mark!r}])"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {middle!r}, {mark!r}])"
    ended, _ = run(python(outer, memory_mb=100))
    assert ended.stopped is StopReason.MEMORY
    assert alive(mark) == []


def test_many_small_ones_count_together() -> None:
    """Six processes of 40 MB each exceed a limit of 150."""
    script = f"""if True:
        import os, subprocess, sys, time
        for _ in range(6):
            subprocess.Popen([sys.executable, '-S', '-c', {HOG.format(mb=40, seconds=60)!r}])
        time.sleep(60)"""
    ended, _ = run(python(script, memory_mb=150))
    assert ended.stopped is StopReason.MEMORY


def test_a_program_that_ignores_term_is_killed_soon() -> None:
    """A program that grows and ignores TERM has one second, for any grace period."""
    script = "import signal; signal.signal(15, signal.SIG_IGN); " + HOG.format(mb=150, seconds=600)
    ended, _ = run(python(script, memory_mb=50, grace_seconds=300.0))
    assert (ended.stopped, ended.status) == (StopReason.MEMORY, -signal.SIGKILL)
    assert ended.duration_seconds < 60


@pytest.mark.full
@LINUX
def test_shared_pages_are_counted_once() -> None:
    """80 MB shared by a parent and its 50 forks are 80 MB, not 4 GB."""
    script = """if True:
        import gc, os, time
        hoard = b'x' * (80 << 20)
        gc.freeze(); gc.disable()
        for _ in range(50):
            if os.fork() == 0:
                time.sleep(600)
        time.sleep(2.5)
        print('done', flush=True)"""
    ended, lines = run(python(script, memory_mb=400))
    assert (ended.stopped, lines) == (None, ["done"])
    assert 80 <= (ended.peak_memory_mb or 0) < 400


@LINUX
def test_files_that_are_only_read_do_not_count(tmp_path: Path) -> None:
    """A mapped file of 200 MB is reclaimable cache of the system."""
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(200 << 20)
    script = f"""if True:
        import mmap, time
        with open({str(big)!r}, 'rb') as file:
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        total = sum(mapped[at] for at in range(0, len(mapped), 4096))
        time.sleep(1.5)"""
    ended, _ = run(python(script, memory_mb=100))
    assert ended.stopped is None
    assert (ended.peak_memory_mb or 0) < 100


def test_a_short_program_has_a_peak_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended before the first sample, and the system has its peak."""
    monkeypatch.setattr(memory, "SHORT_SAMPLE_SECONDS", 1000.0)
    ended, _ = run(python("hoard = b'x' * (60 << 20)"))
    assert (ended.status, ended.stopped) == (0, None)
    assert 60 <= (ended.peak_memory_mb or 0) < 200


def test_no_limit_is_no_stop() -> None:
    """Without a limit the memory is only recorded."""
    ended, _ = run(python(HOG.format(mb=120, seconds=1.5)))
    assert (ended.status, ended.stopped) == (0, None)
    assert 120 <= (ended.peak_memory_mb or 0) < 250


def test_cancelling_while_the_memory_is_read_leaves_nothing() -> None:
    """After a cancellation in the middle, nothing of the program or of the sampler is left."""
    mark = f"cancelled-{os.getpid()}"

    async def history() -> set[asyncio.Task[object]]:
        full = asyncio.Event()
        command = python(HOG.format(mb=50, seconds=60) + f" # {mark}", memory_mb=1000)
        running = asyncio.create_task(DefaultCommandRunner().run(command, lambda _: bool(full.set())))
        await asyncio.wait_for(full.wait(), 60)
        running.cancel()
        await asyncio.wait((running,))
        await asyncio.sleep(0)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(history()) == set()
    assert alive(mark) == []


@LINUX
def test_the_agent_is_the_first_that_the_kernel_kills() -> None:
    """The agent and its processes have a score of 500 or more; that of the run is unchanged."""
    own = int(Path("/proc/self/oom_score_adj").read_text())
    script = "cat /proc/self/oom_score_adj; sh -c 'cat /proc/self/oom_score_adj'"
    _, lines = run(python("", argv=("sh", "-c", script)))
    assert [int(line) for line in lines] == [min(1000, max(500, own + 100))] * 2
    assert int(Path("/proc/self/oom_score_adj").read_text()) == own
    forker = Path(f"/proc/{shared_forker().pid}/oom_score_adj")
    assert int(forker.read_text()) == own


def test_niceness_holds_for_the_agent_and_what_it_starts() -> None:
    """The niceness of the program and its child is increased by the requested value."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    script = f"""if True:
        import os, subprocess, time
        until = time.monotonic() + 10
        while os.nice(0) == {own} and time.monotonic() < until:
            time.sleep(0.01)
        print(os.nice(0), flush=True)
        subprocess.run(['nice'])"""
    _, lines = run(python(script, nice=5))
    assert [int(line) for line in lines] == [min(19, own + 5)] * 2


def test_a_kill_that_the_kernel_did_not_send_is_no_want_of_memory() -> None:
    """Status 9 alone is not enough."""
    ended, _ = run(python("import os; os.kill(os.getpid(), 9)"))
    assert (ended.status, ended.oom_killed) == (-signal.SIGKILL, False)
    assert classify_exit(ended, "claude").code is Code.AGENT_KILLED


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A control group with 120 MB, inside the current one."""
    group = _make_group()
    if group is None:
        pytest.skip("no control group for memory can be made here")
    yield group
    # The kernel counts a killed process for a moment.
    wait_until(lambda: not (group / "cgroup.procs").read_text(), 10, "the group has processes")
    group.rmdir()


@LINUX
def test_an_agent_that_the_kernel_kills_is_out_of_memory(small_group: Path) -> None:
    """In a group of 120 MB the kernel kills the agent, not the run, which reports the reason."""
    driver = f"""if True:
        import asyncio, os, sys
        open({str(small_group / "cgroup.procs")!r}, 'w').write(str(os.getpid()))
        from ostler.executors.exit_status import classify_exit
        from ostler.model.command import Command
        from ostler.process.cgroup import available_memory_mb
        from ostler.process.runner import DefaultCommandRunner
        hog = {HOG.format(mb=400, seconds=60)!r}
        command = Command((sys.executable, '-S', '-c', hog), '/', {{}})
        ended = asyncio.run(DefaultCommandRunner().run(command, lambda line: False))
        print(ended.status, classify_exit(ended, 'claude').code, available_memory_mb())"""
    reported = subprocess.run(
        [sys.executable, "-c", driver], capture_output=True, text=True, timeout=100, check=False
    )
    status, code, room = reported.stdout.split() or ["", "", reported.stderr]
    assert (status, code) == ("-9", "AGENT_OOM")
    assert 0 < int(room) <= 120


def _make_group() -> Path | None:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, place = line.split(":", 2)
        above, limit = Path("/sys/fs/cgroup") / place.lstrip("/"), "memory.max"
        if controllers == "memory":
            above, limit = Path("/sys/fs/cgroup/memory") / place.lstrip("/"), "memory.limit_in_bytes"
        group = above / f"ostler-test-{os.getpid()}"
        if controllers in ("", "memory") and _limit(group, limit):
            return group
    return None


def _limit(group: Path, name: str) -> bool:
    try:
        group.mkdir()
    except OSError:
        return False
    try:
        (group / name).write_text(str(120 << 20))
    except OSError:
        group.rmdir()
        return False
    return True
