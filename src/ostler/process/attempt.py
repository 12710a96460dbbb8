"""One running program, watched to its end: output, deadlines, stop."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable

from ostler.model.command import Command, Exit, Patience, Silence, Sink, StopNow, Stopped, Vigil
from ostler.process.gauge import Gauge
from ostler.process.lines import LineSplitter
from ostler.process.oom import count_oom_kills, oom_killed_since
from ostler.process.output import Output
from ostler.process.protocol import Conversation
from ostler.process.spawner import Child
from ostler.process.strays import end_strays
from ostler.process.sweep import MARKER
from ostler.process.transcript import Transcript

DRAIN_SECONDS = 2.0  # after the main process ended, for what a child of it still writes
PARTING_SECONDS = 0.5  # between our last word in a conversation and TERM
HURRY_SECONDS = 1.0  # between TERM and KILL at most, for what takes ever more memory
STDERR_TAIL_BYTES = 8 * 1024
STDOUT_TAIL_BYTES = 2 * 1024
_KILLED = -9
_KILLED_IN_SHELL = 128 + 9


class Attempt:
    """What is known of the program so far, and what is to be done about it next."""

    def __init__(
        self,
        child: Child,
        command: Command,
        sink: Sink,
        transcript: Transcript,
        conversation: Conversation | None = None,
    ) -> None:
        self._child, self._keeper = child, child.keeper
        self._command, self._sink, self._transcript = command, sink, transcript
        self._conversation = conversation
        self._terminate: asyncio.TimerHandle | None = None
        self._marker = command.env.get(MARKER, "")
        self._gauge = Gauge(self._keeper, command.memory_mb, self._stop_for_memory)
        self._oom_kills = count_oom_kills()
        self._errors = Transcript(f"{command.transcript}.stderr" if command.transcript else "")
        self._loop = asyncio.get_running_loop()
        self._began = self._heard = self._loop.time()
        self._exited_at = math.inf
        self._stdout_bytes = 0
        self._tail = self._said = b""  # the ends of stderr and stdout
        self._patient_until = -math.inf
        self._reason = ""
        self._lines = LineSplitter()
        self._result_given = False
        self._stopping = False
        self._stopped: Stopped | None = None
        self._failure: BaseException | None = None
        changed = self._keeper.changed.set
        self._stdout = Output(child.stdout, self._take_output, changed, self._fail)
        self._stderr = Output(child.stderr, self._take_error, changed, self._fail)

    async def finish(self) -> Exit:
        """Watch until nothing of the program is alive. Cancelled: stop it all first, then let that go on."""
        try:
            self._begin()
            await self._watch()
        except asyncio.CancelledError:
            await self._take_leave()
            await self._keeper.end(self._command.grace_seconds)
            raise
        finally:
            if self._keeper.lost:
                await self._settle()
            elif sys.platform != "linux":
                await end_strays(self._keeper.forker, self._marker)
            self._close()
        if self._failure:
            raise self._failure
        return self._describe()

    def _begin(self) -> None:
        self._gauge.begin()
        if self._conversation and self._child.dialogue:
            say = self._child.dialogue.write
            self._attend(lambda begun=self._conversation: begun.begin(say))

    async def _watch(self) -> None:
        while not (self._keeper.gone or self._keeper.lost):
            at, why = self._next_deadline()
            if at > self._loop.time():
                await self._sleep_until(at)
            elif why is Stopped.IDLE and self._command.vigil:
                await self._ask(self._command.vigil)
            else:
                self._stop(why)

    def _next_deadline(self) -> tuple[float, Stopped | None]:
        """When to stop the program if nothing happens before, and the reason to give."""
        if self._stopping:
            return math.inf, None
        if self._keeper.status is not None:
            self._child.end_input()
            self._exited_at = min(self._exited_at, self._loop.time())
            drained = not (self._stdout.open or self._stderr.open)
            return (self._exited_at + (0 if drained else DRAIN_SECONDS)), None
        deadlines = [
            (self._began + self._command.timeout_seconds, Stopped.TIMEOUT),
            (self._silent_until(), Stopped.IDLE),
        ]
        if self._result_given:
            deadlines.append((self._heard + self._command.result_grace_seconds, Stopped.AFTER_RESULT))
        return min(deadlines)

    def _silent_until(self) -> float:
        """When silence has to be looked at."""
        vigil = self._command.vigil
        if vigil is None:
            return self._heard + self._command.idle_timeout_seconds
        return max(self._heard + vigil.first_look_seconds, self._patient_until)

    async def _ask(self, vigil: Vigil) -> None:
        """Let the vigil decide; its word is void when the program has spoken or ended meanwhile."""
        heard = self._heard
        try:
            verdict = await vigil.look(self._silence())
        except Exception as error:  # noqa: BLE001  (as in Output: the program is stopped first)
            self._fail(error)
            return
        if self._stopping or self._heard != heard or self._keeper.status is not None:
            return
        match verdict:
            case Patience(seconds=seconds):
                self._patient_until = self._loop.time() + seconds
            case StopNow(why=why, reason=reason):
                self._reason = reason
                self._stop(why)

    def _silence(self) -> Silence:
        assert self._keeper.started
        return Silence(
            pid=self._keeper.started.keeper,
            cwd=self._command.cwd,
            seconds=self._loop.time() - self._heard,
            stdout_tail=self._said.decode("utf-8", "replace"),
            stderr_tail=self._tail.decode("utf-8", "replace"),
        )

    def _stop(self, why: Stopped | None) -> None:
        self._stopping = True
        self._stopped = why
        stop, grace = self._keeper.stop, self._command.grace_seconds
        if why is Stopped.MEMORY:
            stop(min(grace, HURRY_SECONDS))
        elif self._part():
            self._terminate = self._loop.call_later(PARTING_SECONDS, stop, grace)
        else:
            stop(grace)

    def _stop_for_memory(self) -> None:
        if self._stopping or self._keeper.status is not None:
            return
        self._reason = (
            f"with all that it started it took {self._gauge.peak_mb} MB,"
            f" and memory_mb of its pool allows {self._command.memory_mb}"
        )
        self._stop(Stopped.MEMORY)

    def _part(self) -> bool:
        """Say the last word and close the input; False when nobody is there to be told."""
        if not (self._conversation and self._child.dialogue) or self._failure or self._result_given:
            return False
        self._attend(self._conversation.part)
        self._child.dialogue.end()
        return True

    async def _take_leave(self) -> None:
        """A moment for a program that was told to end; none when we are cancelled again."""
        if self._stopping or not self._part():
            return
        try:
            async with asyncio.timeout(PARTING_SECONDS):
                while not (self._keeper.gone or self._keeper.lost):
                    await self._keeper.wait()
        except TimeoutError:
            return
        except asyncio.CancelledError:
            self._keeper.stop(0)

    def _attend(self, step: Callable[[], None]) -> None:
        """A step of the conversation; what it raises, finish() raises."""
        try:
            step()
        except BaseException as error:  # noqa: BLE001  (as in Output: the program is stopped first)
            self._fail(error)

    async def _sleep_until(self, at: float) -> None:
        timer = self._loop.call_at(at, self._keeper.changed.set) if at < math.inf else None
        try:
            await self._keeper.wait()
        finally:
            if timer:
                timer.cancel()

    def _take_output(self, chunk: bytes) -> None:
        self._heard = self._loop.time()
        self._stdout_bytes += len(chunk)
        self._said = (self._said + chunk[-STDOUT_TAIL_BYTES:])[-STDOUT_TAIL_BYTES:]
        if self._failure:
            return
        self._transcript.write(chunk)
        for line in self._lines.feed(chunk):
            self._give(line)

    def _give(self, line: bytes) -> None:
        if self._sink(line) and not self._result_given:
            self._result_given = True
            if self._child.dialogue:
                self._child.dialogue.end()
            self._keeper.changed.set()

    def _take_error(self, chunk: bytes) -> None:
        self._heard = self._loop.time()
        self._tail = (self._tail + chunk)[-STDERR_TAIL_BYTES:]
        if not self._failure:
            self._errors.write(chunk)

    def _fail(self, error: BaseException) -> None:
        """The sink or the disk gave up: the program is stopped, and what it still says is not kept."""
        self._failure = self._failure or error
        if not self._stopping:
            self._stop(None)

    async def _settle(self) -> None:
        """The keeper was killed. The forker ends what it left; if that is dead too, we have adopted it."""
        await self._keeper.settle()
        await end_strays(self._keeper.forker, self._marker)

    def _close(self) -> None:
        """Take the last output, which is all there now, and let go."""
        self._gauge.end()
        if self._terminate:
            self._terminate.cancel()
        for output in (self._stdout, self._stderr):
            output.drain()
            output.close()
        try:
            for line in () if self._failure else self._lines.finish():
                self._give(line)
        finally:
            self._transcript.close()
            self._errors.close()
            self._child.close()

    def _describe(self) -> Exit:
        status = _KILLED if self._keeper.status is None else self._keeper.status
        killed = self._stopped is None and status in (_KILLED, _KILLED_IN_SHELL)
        return Exit(
            status=status,
            duration_seconds=self._loop.time() - self._began,
            stopped=self._stopped,
            reason=self._reason,
            stdout_bytes=self._stdout_bytes,
            long_lines=self._lines.long_lines,
            stderr_tail=self._tail.decode("utf-8", "replace"),
            leftovers=self._keeper.leftovers,
            peak_memory_mb=self._gauge.peak_mb,
            oom_killed=killed and oom_killed_since(self._oom_kills),
        )
