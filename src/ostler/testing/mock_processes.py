"""A test double of the process manager: programs that run until a test ends them."""

from __future__ import annotations

import asyncio
import signal
from itertools import count

from ostler.model.command import Command, Exit, Sink
from ostler.process.protocol import Conversation


class MockProcess:
    """A program that `MockProcessManager` pretends to run."""

    def __init__(self, pid: int, command: Command, sink: Sink) -> None:
        self.pid = pid
        self.command = command
        self.cancelled = False  # the caller stopped it
        self.written: list[bytes] = []  # to its input, in a dialogue
        self._sink = sink
        self._end: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

    @property
    def running(self) -> bool:
        return not self._end.done()

    def print(self, line: bytes) -> None:
        """Pass one line of output to the caller."""
        self._sink(line)

    def finish(self, status: int = 0, *lines: bytes) -> None:
        """Print the lines and exit with this status: 0 to 255, or minus the number of a signal."""
        for line in lines:
            self._sink(line)
        if not self._end.done():
            self._end.set_result(Exit(status, 0.0))

    async def wait(self) -> Exit:
        """Return how it ended; a cancellation ends it."""
        try:
            return await self._end
        except asyncio.CancelledError:
            self.cancelled = True
            self._end.cancel()
            raise


class MockProcessManager:
    """A CommandRunner without processes: each command runs until the test calls `finish` or `kill`.

    Pass it as `processes` of CliExecutor, and wait for a start with `await manager.started(1)`.
    """

    def __init__(self) -> None:
        self.processes: list[MockProcess] = []
        self._pids = count(1001)
        self._changed = asyncio.Event()

    async def run(self, command: Command, sink: Sink) -> Exit:
        """See CommandRunner.run."""
        return await self._start(command, sink).wait()

    async def converse(self, command: Command, conversation: Conversation) -> Exit:
        """See CommandRunner.converse; what the conversation writes is in `written` of the process."""
        process = self._start(command, conversation.receive_line)
        conversation.start(process.written.append)
        return await process.wait()

    @property
    def running(self) -> list[MockProcess]:
        """The programs that have not ended, in the order of their starts."""
        return [process for process in self.processes if process.running]

    async def started(self, number: int) -> MockProcess:
        """Wait until so many programs have been started, and return the last of them."""
        while len(self.processes) < number:
            self._changed.clear()
            await self._changed.wait()
        return self.processes[number - 1]

    def kill(self, pid: int, number: int = signal.SIGTERM) -> bool:
        """End a program by a signal, as another process would; return False if it does not run."""
        found = [process for process in self.running if process.pid == pid]
        for process in found:
            process.finish(-number)
        return bool(found)

    def cleanup(self) -> None:
        """End all programs by SIGKILL."""
        for process in self.running:
            process.finish(-signal.SIGKILL)

    def _start(self, command: Command, sink: Sink) -> MockProcess:
        process = MockProcess(next(self._pids), command, sink)
        self.processes.append(process)
        self._changed.set()
        return process
