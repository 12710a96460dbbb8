"""Runs a program on its own terminal, for agents that require one."""

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

from ostler.model.command import TERMINAL_TYPE, Command
from ostler.process.forker_client import ForkerClient, shared_forker
from ostler.process.keeper.program import StartError, start_program
from ostler.process.keeper_client import start_with_keeper
from ostler.process.spawner import ChildHandle, open_input, with_spawn_errors

COLUMNS, ROWS = 120, 30
_LOCAL_FLAGS, _CONTROL_CHARACTERS = 3, 6
_END_OF_FILE, _ALTERNATIVE_END = b"\x04", b"\x05"
_DRAIN_POLL_SECONDS = 0.005
_EMPTY_POLLS = 2  # the kernel moves bytes to the input queue in the background
_WRITE_BYTES = 4096


class PtySpawner:
    """Uses one terminal for input, output and errors, without echo or translation.

    With `stdin_on_pty` of the command switched off, its input is a file.
    """

    def __init__(self, forker: ForkerClient | None = None) -> None:
        self._forker = forker or shared_forker()

    async def spawn(self, command: Command, held: Sequence[int] = ()) -> ChildHandle:
        """See Spawner.spawn."""
        with contextlib.ExitStack() as opened, contextlib.ExitStack() as child_ends:
            with with_spawn_errors(command):
                master, slave = _open_terminal(opened)
                stdin = slave if command.stdin_on_pty else open_input(command.stdin, child_ends)
            typed = command.stdin if command.stdin_on_pty else b""
            if not typed:
                _make_canonical(slave, _END_OF_FILE)
            on_terminal = replace(command, pty=True, env={**command.env, "TERM": TERMINAL_TYPE})
            keeper = await start_with_keeper(
                self._forker, on_terminal, [stdin, slave, slave, *command.passed, *held]
            )
            opened.pop_all()
            return ChildHandle(keeper, master, None, TerminalWriter(master, slave, typed).close)


class TerminalWriter:
    """Writes the prompt to the terminal.

    The prompt is written in raw mode, so that no line is cut at 4096 bytes; the last byte and the end of file
    are written in canonical mode. A reader that waits in raw mode accepts a byte but no end of file. Two end-
    of-file characters follow the last byte: the first completes its line, the second is the end.
    """

    def __init__(self, master: int, slave: int, content: bytes) -> None:
        self._master, self._slave = master, slave
        self._pending, self._last_byte = memoryview(content[:-1]), content[-1:]
        self._empty_polls = 0
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_writer(master, self._write)

    def close(self) -> None:
        """Stop writing; can be called twice."""
        self._loop.remove_writer(self._master)
        if self._timer:
            self._timer.cancel()
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def _write(self) -> None:
        try:
            self._pending = self._pending[os.write(self._master, self._pending[:_WRITE_BYTES]) :]
        except BlockingIOError:
            return
        if not self._pending:
            self._loop.remove_writer(self._master)
            self._wait_for_drain()

    def _wait_for_drain(self) -> None:
        """End the input when the program has read all of it."""
        self._empty_polls = 0 if _count_unread(self._slave) else self._empty_polls + 1
        if self._empty_polls < _EMPTY_POLLS:
            self._timer = self._loop.call_later(_DRAIN_POLL_SECONDS, self._wait_for_drain)
            return
        end = _ALTERNATIVE_END if self._last_byte == _END_OF_FILE else _END_OF_FILE
        _make_canonical(self._slave, end)
        os.write(self._master, self._last_byte + end + end)
        self.close()


@cache
def is_terminal_usable() -> bool:
    """Return whether a program can run on a terminal here."""
    with contextlib.ExitStack() as opened:
        try:
            _, slave = _open_terminal(opened)
            pid = start_program([b"true"], {}, [slave] * 3, pty=True)
        except (OSError, StartError, NotImplementedError):
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


def _count_unread(slave: int) -> int:
    return struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4))[0]


def _make_canonical(slave: int, end: bytes) -> None:
    """Make only the end-of-file character special."""
    modes = termios.tcgetattr(slave)
    modes[_LOCAL_FLAGS] = (modes[_LOCAL_FLAGS] | termios.ICANON) & ~(
        termios.ISIG | termios.ECHO | termios.IEXTEN
    )
    characters = [b"\0"] * len(modes[_CONTROL_CHARACTERS])
    characters[termios.VEOF] = end
    modes[_CONTROL_CHARACTERS] = characters
    termios.tcsetattr(slave, termios.TCSANOW, modes)
