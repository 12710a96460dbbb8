"""Real silent programs: which are left alone, which are stopped, and as what."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from ostler.calls.attempts.liveness import LivenessMonitor
from ostler.clock import SystemClock
from ostler.model.command import Command, Exit, ExtendIdleTimeout, IdleTimeout, StopNow, StopReason
from ostler.process.runner import DefaultCommandRunner

IDLE = 1.5
LONG = 2.2 * IDLE  # how long the busy ones work without output

BUSY = f"""
import time
print('begin', flush=True)
while time.process_time() < {LONG}: pass
print('end')
"""
BUSY_CHILD = f"""
import subprocess, sys
print('begin', flush=True)
subprocess.run([sys.executable, '-S', '-c', {BUSY!r}], stdout=subprocess.DEVNULL)
print('end')
"""
WRITING = f"""
import pathlib, time
print('begin', flush=True)
pathlib.Path('deep').mkdir()
until = time.monotonic() + {LONG}
while time.monotonic() < until:
    pathlib.Path('deep/out').write_text(str(time.monotonic()))
    time.sleep(0.05)
print('end')
"""
SLEEPING = "import time\nprint('begin', flush=True)\ntime.sleep(120)"
ASKING = "import time\nprint('Continue? (y/n) ', end='', flush=True)\ntime.sleep(120)"
ASKING_TERMINAL = """
import time
try:
    input('Do you trust the files in this folder? ')
except EOFError:
    time.sleep(120)
"""
ENDLESS = "print('begin', flush=True)\nwhile True: pass"


def run(script: str, place: Path, **changes: object) -> tuple[Exit, list[bytes], float]:
    lines: list[bytes] = []
    values: dict[str, object] = {
        "argv": (sys.executable, "-S", "-E", "-c", script),
        "cwd": str(place),
        "env": {"PATH": os.environ["PATH"]},
        "timeout_seconds": 60.0,
        "idle_timeout_seconds": IDLE,
        "grace_seconds": 0.2,
        "supervision": LivenessMonitor(IDLE, SystemClock()),
        **changes,
    }
    begun = time.monotonic()
    ended = asyncio.run(
        DefaultCommandRunner().run(Command(**values), lambda line: bool(lines.append(line)))  # pyright: ignore
    )
    return ended, lines, time.monotonic() - begun


@pytest.mark.parametrize("script", [BUSY, BUSY_CHILD, WRITING], ids=["cpu", "cpu of a child", "files"])
@pytest.mark.sampled(1)
def test_silent_work_is_left_alone(script: str, tmp_path: Path) -> None:
    """Far beyond the idle timeout, as long as its processes or its files show activity."""
    ended, lines, took = run(script, tmp_path)
    assert (ended.status, ended.stopped, lines) == (0, None, [b"begin", b"end"])
    assert took > 2 * IDLE


def test_a_program_that_sleeps_is_stopped_as_idle(tmp_path: Path) -> None:
    """Silence without activity ends at the idle timeout, and the reason names what was missing."""
    ended, _, took = run(SLEEPING, tmp_path)
    assert ended.stopped is StopReason.IDLE
    assert ended.reason.startswith("no output, CPU use or file change for ")
    assert took >= IDLE


@pytest.mark.parametrize(
    ("script", "pty", "asked"),
    [
        (ASKING, False, "Continue? (y/n)"),
        (ASKING_TERMINAL, True, "Do you trust the files in this folder?"),
    ],
    ids=["pipe", "terminal"],
)
@pytest.mark.sampled(1)
def test_a_question_is_needs_input(script: str, pty: bool, asked: str, tmp_path: Path) -> None:
    """A program that asks for input is stopped, and its question is recorded."""
    ended, _, _ = run(script, tmp_path, pty=pty, supervision=LivenessMonitor(2 * IDLE, SystemClock()))
    assert (ended.stopped, ended.reason) == (StopReason.NEEDS_INPUT, asked)


@pytest.mark.full
def test_the_total_timeout_ends_even_a_busy_one(tmp_path: Path) -> None:
    """Activity extends the idle timeout, never the total timeout."""
    ended, _, _ = run(ENDLESS, tmp_path, timeout_seconds=2.5 * IDLE)
    assert ended.stopped is StopReason.TIMEOUT


class Answering:
    """A supervision that returns what a test sets."""

    first_check_seconds = 0.05

    def __init__(self, answer: ExtendIdleTimeout | StopNow | Exception, *after: str) -> None:
        self.answer, self.after = answer, after  # returned once all of these texts were seen
        self.asked: list[IdleTimeout] = []

    def check_output(self) -> StopNow | None:
        return None

    async def check_idle(self, idle: IdleTimeout) -> ExtendIdleTimeout | StopNow:
        if not all(word in idle.stdout_tail + idle.stderr_tail for word in self.after):
            return ExtendIdleTimeout(0.05)
        self.asked.append(idle)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


STUBBORN = f"""
import os, pathlib, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path('pid').write_text(str(os.getpid()))
{SLEEPING}
"""


def test_a_supervision_that_fails_leaves_nothing_running(tmp_path: Path) -> None:
    """Its error is raised after the program was stopped, not before."""
    with pytest.raises(ValueError, match="broken"):
        run(STUBBORN, tmp_path, supervision=Answering(ValueError("broken"), "begin"))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


class Slow:
    """Its first check ends only after the program has printed something again."""

    first_check_seconds = 0.05

    def __init__(self, place: Path) -> None:
        self.place, self.printed, self.looks = place, asyncio.Event(), 0

    def check_output(self) -> StopNow | None:
        return None

    async def check_idle(self, idle: IdleTimeout) -> ExtendIdleTimeout | StopNow:
        self.looks += 1
        if self.looks > 1:
            return ExtendIdleTimeout(60.0)
        (self.place / "asked").touch()
        await self.printed.wait()
        return StopNow(StopReason.IDLE)


def test_a_verdict_is_void_after_new_output(tmp_path: Path) -> None:
    """A program that prints something while it is checked is not stopped."""
    supervision = Slow(tmp_path)
    script = "until [ -e asked ]; do sleep 0.01; done; echo here; sleep 0.3; echo still"

    def sink(line: bytes) -> bool:
        return bool(supervision.printed.set())

    command = Command(
        ("sh", "-c", script), str(tmp_path), {"PATH": os.environ["PATH"]}, supervision=supervision
    )
    ended = asyncio.run(DefaultCommandRunner().run(command, sink))
    assert (ended.status, ended.stopped) == (0, None)
    assert supervision.looks >= 1


def test_a_supervision_receives_the_idle_state(tmp_path: Path) -> None:
    """The ends of both streams, the directory, the pid of the keeper, and the seconds of silence."""
    say = "print('err', file=sys.stderr, flush=True)\nprint('x' * 5000 + 'out', flush=True)"
    script = f"import sys, time\n{say}\ntime.sleep(60)"
    supervision = Answering(StopNow(StopReason.IDLE, "because"), "out", "err")
    ended, _, _ = run(script, tmp_path, supervision=supervision)
    assert len(supervision.asked) == 1, ended
    reported = supervision.asked[0]
    assert (reported.cwd, reported.stderr_tail) == (str(tmp_path), "err\n")
    assert (len(reported.stdout_tail), reported.stdout_tail[-4:]) == (2048, "out\n")
    assert (ended.stopped, ended.reason) == (StopReason.IDLE, "because")
    assert reported.seconds >= 0.05
    assert reported.pid > 1
