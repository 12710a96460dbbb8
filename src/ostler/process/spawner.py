"""Starts programs with pipes, or with a terminal for agents that require one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from typing import Protocol

from ostler.model.command import Command
from ostler.process.forker_client import ForkerClient, shared_forker
from ostler.process.keeper_client import KeeperClient, start_with_keeper
from ostler.process.spawn_failure import create_spawn_error
from ostler.process.streams import Input

_PIPE_BYTES = 1024 * 1024


class ChildHandle:
    """A started program: its keeper and our ends of its streams."""

    def __init__(
        self,
        keeper: KeeperClient,
        stdout: int,
        stderr: int | None,
        end_input: Callable[[], None] = lambda: None,
        input_stream: Input | None = None,
    ) -> None:
        self.keeper = keeper
        self.stdout = stdout
        self.stderr = stderr  # None: the same stream as stdout
        self.close_input = end_input  # closes the input; can be called again
        self.input = input_stream  # None: it accepts no further input

    def close(self) -> None:
        """Close the descriptors after the program is gone."""
        self.keeper.close()
        self.close_input()
        os.close(self.stdout)
        if self.stderr is not None:
            os.close(self.stderr)


class Spawner(Protocol):
    """Starts a program under a keeper."""

    async def spawn(self, command: Command, held: Sequence[int] = ()) -> ChildHandle:
        """Start the program; `held` descriptors stay open while one of its processes is alive. Raises
        SpawnError.
        """
        ...


class StandardSpawner:
    """Uses pipes for output, and a file or, in a dialogue, a pipe for standard input."""

    def __init__(self, forker: ForkerClient | None = None) -> None:
        self._forker = forker or shared_forker()

    async def spawn(self, command: Command, held: Sequence[int] = ()) -> ChildHandle:
        with contextlib.ExitStack() as child_ends, contextlib.ExitStack() as own_ends:
            with with_spawn_errors(command):
                stdin, input_fd = _open_stdin(command, own_ends, child_ends)
                stdout, child_stdout = _open_pipe(own_ends, child_ends)
                stderr, child_stderr = _open_pipe(own_ends, child_ends)
            enlarge_pipe(stdout)
            keeper = await start_with_keeper(
                self._forker, command, [stdin, child_stdout, child_stderr, *command.passed, *held]
            )
            own_ends.pop_all()
            if input_fd is None:
                return ChildHandle(keeper, stdout, stderr)
            input_stream = Input(input_fd)
            return ChildHandle(keeper, stdout, stderr, input_stream.close, input_stream)


def create_spawner(prefer_pty: bool) -> Spawner:
    """Return a spawner for a terminal if one is preferred and usable, else for pipes."""
    if not prefer_pty:
        return StandardSpawner()
    from ostler.process.terminal import PtySpawner, is_terminal_usable  # noqa: PLC0415  (rarely needed)

    return PtySpawner() if is_terminal_usable() else StandardSpawner()


@contextlib.contextmanager
def with_spawn_errors(command: Command) -> Generator[None]:
    """Convert an OSError while descriptors are opened to a SpawnError."""
    try:
        yield
    except OSError as error:
        raise create_spawn_error(error.errno or 0, "open", command) from None


def enlarge_pipe(descriptor: int) -> None:
    """Enlarge the pipe to wake up less often; refused to users with many pipes, which is harmless."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _open_pipe(own_ends: contextlib.ExitStack, child_ends: contextlib.ExitStack) -> tuple[int, int]:
    reader, writer = os.pipe()
    own_ends.callback(os.close, reader)
    child_ends.callback(os.close, writer)
    os.set_blocking(reader, False)
    return reader, writer


def _open_stdin(
    command: Command, own_ends: contextlib.ExitStack, child_ends: contextlib.ExitStack
) -> tuple[int, int | None]:
    """Return the program's standard input and, in a dialogue, the end that we write to."""
    if not command.keeps_stdin_open:
        return open_input(command.stdin, child_ends), None
    reader, writer = os.pipe()
    child_ends.callback(os.close, reader)
    own_ends.callback(os.close, writer)
    os.set_blocking(writer, False)
    return reader, writer


def open_input(content: bytes, child_ends: contextlib.ExitStack) -> int:
    """Open a file with the content: unlike a pipe, it needs no writer that could block."""
    if not content:
        descriptor = os.open(os.devnull, os.O_RDONLY)
    elif sys.platform == "linux":
        descriptor = os.memfd_create("prompt")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    child_ends.callback(os.close, descriptor)
    _write_content(descriptor, content)
    return descriptor


def _write_content(descriptor: int, content: bytes) -> None:
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
    if content:
        os.lseek(descriptor, 0, os.SEEK_SET)
