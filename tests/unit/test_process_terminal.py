"""Programs on a terminal."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys

import pytest

from ostler.model.command import Command, Exit
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import StandardSpawner, create_spawner
from ostler.process.terminal import PtySpawner, is_terminal_usable

pytestmark = pytest.mark.skipif(not is_terminal_usable(), reason="no terminal can be opened here")


def run(script: str, stdin: bytes = b"") -> tuple[Exit, list[bytes]]:
    lines: list[bytes] = []
    env = {"PATH": os.environ["PATH"]}
    command = Command((sys.executable, "-S", "-E", "-c", script), "/", env, stdin=stdin, timeout_seconds=20)
    runner = DefaultCommandRunner(PtySpawner())
    return asyncio.run(runner.run(command, lambda line: bool(lines.append(line)))), lines


def test_program_has_a_controlling_terminal_of_our_size() -> None:
    """All three descriptors are its controlling terminal, 120 by 30, with the given TERM."""
    script = """if True:
        import os
        print(*map(os.isatty, range(3)), *os.get_terminal_size(), os.environ["TERM"])
        os.close(os.open("/dev/tty", os.O_RDWR))
        print(os.tcgetpgrp(0) == os.getpid(), os.getsid(0) == os.getpid())"""
    ended, lines = run(script)
    assert ended.status == 0
    assert lines == [b"True True True 120 30 xterm-256color", b"True True"]


@pytest.mark.parametrize(
    "prompt",
    [
        b"",
        b"x",
        b"short\n",
        b"\x04",
        b"one\x04two\x03\x1a\x11\x13\x16\r\n\x7f\xff\x00end\x04",
        b"y" * 100_000,
        (b"z" * 5000 + b"\n") * 40,
    ],
)
def test_prompt_arrives_whole_and_then_ends(prompt: bytes) -> None:
    """With lines over 4096 bytes and control characters, the reader gets each byte, then the end of file."""
    script = "import sys, hashlib; d = sys.stdin.buffer.read(); print(len(d), hashlib.sha256(d).hexdigest())"
    import hashlib

    ended, lines = run(script, prompt)
    assert ended.stopped is None
    assert lines == [f"{len(prompt)} {hashlib.sha256(prompt).hexdigest()}".encode()]


def test_prompt_that_is_never_read_does_not_hold_anything_up() -> None:
    """A program that ignores its input ends by itself."""
    ended, lines = run("print('done')", b"x" * 200_000)
    assert (ended.status, ended.stopped, lines) == (0, None, [b"done"])
    assert ended.duration_seconds < 10


def test_errors_and_output_are_one_stream_without_translation() -> None:
    """Standard error is merged, newlines are unchanged and nothing is echoed."""
    ended, lines = run("import os; os.write(2, b'err\\n'); os.write(1, b'a\\tb\\n')", b"secret")
    assert lines == [b"err", b"a\tb"]
    assert ended.stdout_bytes == 8


def test_spawner_is_chosen_by_preference() -> None:
    """Pipes unless a terminal is preferred."""
    assert isinstance(create_spawner(prefer_pty=True), PtySpawner)
    assert isinstance(create_spawner(prefer_pty=False), StandardSpawner)


def test_command_can_demand_a_terminal() -> None:
    """A runner with pipes gives a terminal to a command that requires one."""
    lines: list[bytes] = []
    command = Command((shutil.which("tty") or "tty",), "/", {}, pty=True)
    asyncio.run(DefaultCommandRunner().run(command, lambda line: bool(lines.append(line))))
    assert lines[0].startswith(b"/dev/")
