"""A program on a terminal of its own, for the agents that demand one."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
import tty
from collections.abc import Sequence
from functools import cache

from msgspec.structs import replace

from ostler.model.command import Command
from ostler.process.forker import Forker, shared_forker
from ostler.process.keeper import start_kept
from ostler.process.keepers.program import StartFailed, start_program
from ostler.process.spawner import Child, refusing

COLUMNS, ROWS = 120, 30
_LOCAL_FLAGS, _CONTROL_CHARACTERS = 3, 6
_END_OF_FILE, _OTHER_END = b"\x04", b"\x05"
_DRAIN_POLL_SECONDS = 0.005
_QUIET_POLLS = 2  # the kernel moves bytes to the input queue in the background
_WRITE_BYTES = 4096


class PtySpawner:
    """Input, output and errors on one terminal, which neither echoes nor translates."""

    def __init__(self, forker: Forker | None = None) -> None:
        self._forker = forker or shared_forker()

    async def spawn(self, command: Command, held: Sequence[int] = ()) -> Child:
        """See Spawner.spawn."""
        with contextlib.ExitStack() as opened:
            with refusing(command):
                master, slave = _open_terminal(opened)
            if not command.stdin:
                _make_canonical(slave, _END_OF_FILE)
            on_terminal = replace(command, pty=True, env={**command.env, "TERM": "xterm-256color"})
            keeper = await start_kept(self._forker, on_terminal, [slave, slave, slave, *held])
            opened.pop_all()
            return Child(keeper, master, None, Feeder(master, slave, command.stdin).close)


class Feeder:
    """Types the prompt: raw, so that no line is cut at 4096 bytes; its last byte and the end of file not.

    A reader that already waits in raw mode takes no end of file for an answer, only a byte. Two ends follow
    that byte: the first completes its line, the second is the end.
    """

    def __init__(self, master: int, slave: int, content: bytes) -> None:
        self._master, self._slave = master, slave
        self._rest, self._last = memoryview(content[:-1]), content[-1:]
        self._quiet = 0
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_writer(master, self._write)

    def close(self) -> None:
        """Type no more; may be repeated."""
        self._loop.remove_writer(self._master)
        if self._timer:
            self._timer.cancel()
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._master, self._rest[:_WRITE_BYTES]) :]
        except BlockingIOError:
            return
        if not self._rest:
            self._loop.remove_writer(self._master)
            self._await_drain()

    def _await_drain(self) -> None:
        """End the input when the program has read all of it."""
        self._quiet = 0 if _unread(self._slave) else self._quiet + 1
        if self._quiet < _QUIET_POLLS:
            self._timer = self._loop.call_later(_DRAIN_POLL_SECONDS, self._await_drain)
            return
        end = _OTHER_END if self._last == _END_OF_FILE else _END_OF_FILE
        _make_canonical(self._slave, end)
        os.write(self._master, self._last + end + end)
        self.close()


@cache
def terminal_works() -> bool:
    """Whether a program can really be run on a terminal here."""
    with contextlib.ExitStack() as opened:
        try:
            _, slave = _open_terminal(opened)
            pid = start_program([b"true"], {}, [slave] * 3, pty=True)
        except (OSError, StartFailed, NotImplementedError):
            return False
        return os.waitpid(pid, 0)[1] == 0


def _open_terminal(opened: contextlib.ExitStack) -> tuple[int, int]:
    master, slave = os.openpty()
    opened.callback(os.close, master)
    opened.callback(os.close, slave)
    os.set_blocking(master, False)
    tty.setraw(slave, termios.TCSANOW)
    termios.tcsetwinsize(slave, (ROWS, COLUMNS))
    return master, slave


def _unread(slave: int) -> int:
    return struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4))[0]


def _make_canonical(slave: int, end: bytes) -> None:
    """Only the end of file is special; anything else that is typed stays what it is."""
    modes = termios.tcgetattr(slave)
    modes[_LOCAL_FLAGS] = (modes[_LOCAL_FLAGS] | termios.ICANON) & ~(
        termios.ISIG | termios.ECHO | termios.IEXTEN
    )
    characters = [b"\0"] * len(modes[_CONTROL_CHARACTERS])
    characters[termios.VEOF] = end
    modes[_CONTROL_CHARACTERS] = characters
    termios.tcsetattr(slave, termios.TCSANOW, modes)
