"""Client of one keeper: sends commands and receives its reports."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Sequence
from typing import NamedTuple

from ostler.errors import SpawnError
from ostler.model.command import Command
from ostler.process.forker_client import ForkerClient
from ostler.process.keeper.frames import FrameDecoder, encode
from ostler.process.lease import CURRENT_LEASE
from ostler.process.spawn_failure import create_spawn_error
from ostler.process.watchdog import HelperWatchdog

_TEMPORARY_ERRNOS = (errno.EAGAIN, errno.ETOOMANYREFS)
_RETRY_DELAYS_SECONDS = (
    0.02,
    0.1,
    0.4,
    1.0,
    2.0,
)  # a shortage of processes or descriptors is usually short


class ProgramStarted(NamedTuple):
    pid: int
    keeper: int


class StartFailed(NamedTuple):
    errno: int
    step: str


class KeeperClient:
    """A program that runs under a keeper. `changed` is set after each report."""

    def __init__(self, forker: ForkerClient) -> None:
        self.forker = forker
        self._control = forker.take_keeper()
        self._frames = FrameDecoder()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._control, self._receive)
        self.changed = asyncio.Event()
        self.program: ProgramStarted | None = None
        self.failed: StartFailed | None = None
        self.status: int | None = None  # of the main process after its exit
        self.max_rss = 0  # peak memory of the main process, in units of getrusage
        self.leftovers = 0
        self.gone = False  # no process of the program is alive
        self.lost = False  # the keeper was killed
        self.kill_at: float | None = None  # when the keeper has to kill the program; None: it may run
        self._watchdog = HelperWatchdog(self)
        self._lease = CURRENT_LEASE.get()

    @property
    def pid(self) -> int:
        """The pid of the keeper; 0 before its program was started."""
        return self.program.keeper if self.program else 0

    @property
    def problem(self) -> str:
        """What was wrong with the keeper or the forker, and what was done; empty: nothing."""
        return self._watchdog.problem

    async def start(self, command: Command, descriptors: Sequence[int]) -> None:
        """Send the program and its descriptors, and wait until it runs or failed to start."""
        request = _encode_request(command)
        if self._lease is not None:
            request += encode("lease", self._lease.until)
        with contextlib.suppress(ConnectionError):  # the end of file is reported later
            sent = socket.send_fds(self._control, [request], descriptors)
            if sent < len(request):
                await self._loop.sock_sendall(self._control, request[sent:])
        if self._lease is not None:
            self._lease.add(self._report_lease)
        while not (self.program or self.failed or self.lost):
            await self.wait()

    async def wait(self) -> None:
        """Wait for the next report."""
        await self.changed.wait()
        self.changed.clear()

    def stop(self, grace_seconds: float) -> None:
        """Send SIGTERM now and SIGKILL after the grace time; a later call can shorten the grace time."""
        # An absolute time, so that a busy machine does not extend the grace time.
        kill_at = self.forker.stop_times.find_kill_time(grace_seconds)
        self.kill_at = min(kill_at, self.kill_at or kill_at)
        with contextlib.suppress(ConnectionError, BlockingIOError):
            self._control.send(encode(kill_at))

    async def stop_and_wait(self, grace_seconds: float) -> None:
        """Stop the program and wait until it is gone, even if cancelled; a second cancellation kills it."""
        self.stop(grace_seconds)
        while not (self.gone or self.failed or self.lost):
            try:
                await self.wait()
            except asyncio.CancelledError:
                self.stop(0)

    async def wait_for_cleanup(self) -> None:
        """Wait until the forker killed what a lost keeper left."""
        assert self.program
        end = self.forker.watch_cleanup(self.program.keeper)
        if end is None:
            return
        with end:
            end.setblocking(False)
            with contextlib.suppress(ConnectionError):
                await self._loop.sock_recv(end, 1)

    def close(self) -> None:
        """Close the connection; can be called twice."""
        self._watchdog.stop()
        if self._lease is not None:
            self._lease.remove(self._report_lease)
        if self._control.fileno() < 0:
            return
        self._loop.remove_reader(self._control)
        self._control.close()

    def _report_lease(self, until: float) -> None:
        """Send the keeper the new end of the lease; without room for it the old one stays."""
        with contextlib.suppress(ConnectionError, BlockingIOError):
            self._control.send(encode("lease", until))

    def _receive(self) -> None:
        try:
            data = self._control.recv(65536)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        for fields in self._frames.feed(data):
            self._handle_message(fields)
        if not data:
            self.lost = not self.gone
            self._loop.remove_reader(self._control)
        self.changed.set()

    def _handle_message(self, fields: list[bytes]) -> None:
        match fields:
            case [b"started", pid, keeper]:
                self.program = ProgramStarted(int(pid), int(keeper))
            case [b"failed", number, step]:
                self.failed = StartFailed(int(number), step.decode())
            case [b"exited", status, largest]:
                self.status, self.max_rss = int(status), int(largest)
            case [b"gone", leftovers]:
                self.gone = True
                self.leftovers = int(leftovers)
            case _:
                raise AssertionError(fields)


def _encode_request(command: Command) -> bytes:
    variables = [text for variable in command.env.items() for text in variable]
    numbers = (command.nice, int(command.pty), len(command.passed), len(command.argv))
    return encode(command.cwd, *numbers, *command.argv, *variables)


async def start_with_keeper(
    forker: ForkerClient, command: Command, descriptors: Sequence[int]
) -> KeeperClient:
    """Start the program under a keeper; retries while the machine is busy. Raises SpawnError."""
    for delay in _RETRY_DELAYS_SECONDS:
        try:
            return await _start_once(forker, command, descriptors)
        except SpawnError as error:
            if error.errno not in _TEMPORARY_ERRNOS:
                raise
        await asyncio.sleep(delay)
    return await _start_once(forker, command, descriptors)


async def _start_once(forker: ForkerClient, command: Command, descriptors: Sequence[int]) -> KeeperClient:
    try:
        keeper = KeeperClient(forker)
    except OSError as error:
        raise create_spawn_error(error.errno or errno.EAGAIN, "open", command) from None
    try:
        await keeper.start(command, descriptors)
    except asyncio.CancelledError:
        await keeper.stop_and_wait(command.grace_seconds)
        keeper.close()
        raise
    if not keeper.program:
        keeper.close()
        failed = keeper.failed or StartFailed(errno.EAGAIN, "fork")
        raise create_spawn_error(failed.errno, failed.step, command)
    forker.prepare_keeper()
    return keeper
