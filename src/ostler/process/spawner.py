"""How a program is given its descriptors: pipes by default, a terminal where an agent demands one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from typing import Protocol

from ostler.model.command import Command
from ostler.process.forker import Forker, shared_forker
from ostler.process.input import Input
from ostler.process.keeper import Keeper, start_kept
from ostler.process.spawn_failure import spawn_error

_PIPE_BYTES = 1024 * 1024


class Child:
    """A running program: its keeper, and the ends that the run reads."""

    def __init__(
        self,
        keeper: Keeper,
        stdout: int,
        stderr: int | None,
        end_input: Callable[[], None] = lambda: None,
        dialogue: Input | None = None,
    ) -> None:
        self.keeper = keeper
        self.stdout = stdout
        self.stderr = stderr  # None: the same stream as stdout
        self.end_input = end_input  # feed it no more; may be called again
        self.dialogue = dialogue  # None: it cannot be talked with

    def close(self) -> None:
        """Let go of the descriptors; the program must be gone."""
        self.keeper.close()
        self.end_input()
        os.close(self.stdout)
        if self.stderr is not None:
            os.close(self.stderr)


class Spawner(Protocol):
    """Starts a program under a keeper."""

    async def spawn(self, command: Command, held: Sequence[int] = ()) -> Child:
        """Start it; `held` stay open until nothing of it is alive. Raises SpawnError."""
        ...


class StandardSpawner:
    """Standard input from a file that holds the bytes, for a dialogue by pipe; output and errors by pipe."""

    def __init__(self, forker: Forker | None = None) -> None:
        self._forker = forker or shared_forker()

    async def spawn(self, command: Command, held: Sequence[int] = ()) -> Child:
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            with refusing(command):
                stdin, mouth = _open_stdin(command, ours, theirs)
                stdout, child_stdout = _open_pipe(ours, theirs)
                stderr, child_stderr = _open_pipe(ours, theirs)
            enlarge_pipe(stdout)
            keeper = await start_kept(self._forker, command, [stdin, child_stdout, child_stderr, *held])
            ours.pop_all()
            if mouth is None:
                return Child(keeper, stdout, stderr)
            dialogue = Input(mouth)
            return Child(keeper, stdout, stderr, dialogue.close, dialogue)


def create_spawner(prefer_pty: bool) -> Spawner:
    """Pipes; or a terminal when it is preferred and one really works here."""
    if not prefer_pty:
        return StandardSpawner()
    from ostler.process.terminal import PtySpawner, terminal_works  # noqa: PLC0415  (rarely wanted)

    return PtySpawner() if terminal_works() else StandardSpawner()


@contextlib.contextmanager
def refusing(command: Command) -> Generator[None]:
    """Turn a refused descriptor into a SpawnError."""
    try:
        yield
    except OSError as error:
        raise spawn_error(error.errno or 0, "open", command) from None


def enlarge_pipe(descriptor: int) -> None:
    """Fewer wake-ups under a flood; refused to users who have many pipes, which is fine."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _open_pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    reader, writer = os.pipe()
    ours.callback(os.close, reader)
    theirs.callback(os.close, writer)
    os.set_blocking(reader, False)
    return reader, writer


def _open_stdin(
    command: Command, ours: contextlib.ExitStack, theirs: contextlib.ExitStack
) -> tuple[int, int | None]:
    """What the program reads from and, for a dialogue, the end that we write to."""
    if not command.dialogue:
        return _open_input(command.stdin, theirs), None
    reader, writer = os.pipe()
    theirs.callback(os.close, reader)
    ours.callback(os.close, writer)
    os.set_blocking(writer, False)
    return reader, writer


def _open_input(content: bytes, theirs: contextlib.ExitStack) -> int:
    """A file, so that there is never a writer to block or to find the pipe closed."""
    if not content:
        descriptor = os.open(os.devnull, os.O_RDONLY)
    elif sys.platform == "linux":
        descriptor = os.memfd_create("prompt")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    theirs.callback(os.close, descriptor)
    _fill(descriptor, content)
    return descriptor


def _fill(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    if content:
        os.lseek(descriptor, 0, os.SEEK_SET)
