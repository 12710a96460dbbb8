"""The run's side of one keeper: what it was asked, what it reported."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import time
from collections.abc import Sequence
from typing import NamedTuple

from ostler.errors import SpawnError
from ostler.model.command import Command
from ostler.process.forker import Forker
from ostler.process.keepers.frames import Frames, encode
from ostler.process.spawn_failure import spawn_error

_BUSY = (errno.EAGAIN, errno.ETOOMANYREFS)
_PATIENCE_SECONDS = (
    0.02,
    0.1,
    0.4,
    1.0,
    2.0,
)  # the machine is short of processes or descriptors: usually for a moment


class Started(NamedTuple):
    pid: int
    keeper: int


class Failed(NamedTuple):
    errno: int
    step: str


class Keeper:
    """A started program, seen from the run. `changed` is set whenever something was reported."""

    def __init__(self, forker: Forker) -> None:
        self.forker = forker
        self._control = forker.take_keeper()
        self._frames = Frames()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._control, self._listen)
        self.changed = asyncio.Event()
        self.started: Started | None = None
        self.failed: Failed | None = None
        self.status: int | None = None  # of the main process, once it exited
        self.largest = 0  # the most memory of the main process, as getrusage counts it
        self.leftovers = 0
        self.gone = False  # nothing of the program is alive
        self.lost = False  # the keeper itself was killed

    async def start(self, command: Command, descriptors: Sequence[int]) -> None:
        """Hand over the program and its descriptors, and wait for the word that it runs."""
        request = _encode_request(command)
        with contextlib.suppress(ConnectionError):  # then its end of file tells more
            sent = socket.send_fds(self._control, [request], descriptors)
            if sent < len(request):
                await self._loop.sock_sendall(self._control, request[sent:])
        while not (self.started or self.failed or self.lost):
            await self.wait()

    async def wait(self) -> None:
        """Return when something new was reported."""
        await self.changed.wait()
        self.changed.clear()

    def stop(self, grace_seconds: float) -> None:
        """Ask all to end, kill what is left after the grace; may be repeated with a shorter one."""
        kill_at = (
            time.monotonic() + grace_seconds
        )  # one clock for all: a busy machine does not add to the grace
        with contextlib.suppress(ConnectionError):
            self._control.send(encode(kill_at))

    async def end(self, grace_seconds: float) -> None:
        """Stop, wait until nothing is left whoever cancels the waiting. Cancelled again: kill now."""
        self.stop(grace_seconds)
        while not (self.gone or self.failed or self.lost):
            try:
                await self.wait()
            except asyncio.CancelledError:
                self.stop(0)

    async def settle(self) -> None:
        """After the keeper was killed: wait until the forker has ended what it left."""
        assert self.started
        end = self.forker.settle(self.started.keeper)
        if end is None:
            return
        with end:
            end.setblocking(False)
            with contextlib.suppress(ConnectionError):
                await self._loop.sock_recv(end, 1)

    def close(self) -> None:
        """Let go of the keeper; may be repeated."""
        if self._control.fileno() < 0:
            return
        self._loop.remove_reader(self._control)
        self._control.close()

    def _listen(self) -> None:
        try:
            data = self._control.recv(65536)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        for words in self._frames.feed(data):
            self._note(words)
        if not data:
            self.lost = not self.gone
            self._loop.remove_reader(self._control)
        self.changed.set()

    def _note(self, words: list[bytes]) -> None:
        match words:
            case [b"started", pid, keeper]:
                self.started = Started(int(pid), int(keeper))
            case [b"failed", number, step]:
                self.failed = Failed(int(number), step.decode())
            case [b"exited", status, largest]:
                self.status, self.largest = int(status), int(largest)
            case [b"gone", leftovers]:
                self.gone = True
                self.leftovers = int(leftovers)
            case _:
                raise AssertionError(words)


def _encode_request(command: Command) -> bytes:
    variables = [text for variable in command.env.items() for text in variable]
    numbers = (command.nice, int(command.pty), len(command.argv))
    return encode(command.cwd, *numbers, *command.argv, *variables)


async def start_kept(forker: Forker, command: Command, descriptors: Sequence[int]) -> Keeper:
    """A keeper whose program runs. Raises SpawnError; a machine that is busy is asked again, a few times."""
    for pause in _PATIENCE_SECONDS:
        try:
            return await _start_once(forker, command, descriptors)
        except SpawnError as error:
            if error.errno not in _BUSY:
                raise
        await asyncio.sleep(pause)
    return await _start_once(forker, command, descriptors)


async def _start_once(forker: Forker, command: Command, descriptors: Sequence[int]) -> Keeper:
    try:
        keeper = Keeper(forker)
    except OSError as error:
        raise spawn_error(error.errno or errno.EAGAIN, "open", command) from None
    try:
        await keeper.start(command, descriptors)
    except asyncio.CancelledError:
        await keeper.end(command.grace_seconds)
        keeper.close()
        raise
    if not keeper.started:
        keeper.close()
        failed = keeper.failed or Failed(errno.EAGAIN, "fork")
        raise spawn_error(failed.errno, failed.step, command)
    forker.prepare_keeper()
    return keeper
