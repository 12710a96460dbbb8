"""A running program: reads its output, applies its time limits and stops it."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from contextlib import closing

from ostler.model.command import (
    Command,
    Exit,
    ExtendIdleTimeout,
    IdleTimeout,
    Sink,
    StopNow,
    StopReason,
    Supervision,
    Watch,
)
from ostler.process.cgroup import count_oom_kills, was_oom_killed_since
from ostler.process.memory import ResourceSampler
from ostler.process.orphans import kill_orphans
from ostler.process.protocol import Conversation
from ostler.process.spawner import ChildHandle
from ostler.process.streams import LineSplitter, Output
from ostler.process.sweep import MARKER
from ostler.process.transcript import Transcript
from ostler.text import strip_control_characters

DRAIN_SECONDS = 2.0  # wait for output of remaining processes after the main process exited
STOP_NOTICE_SECONDS = 0.5  # between Conversation.prepare_stop and SIGTERM
MEMORY_GRACE_SECONDS = 1.0  # between SIGTERM and SIGKILL at most, while memory use grows
KILL_NOW = "kill now"  # the message of a cancellation that gives the program no time to exit
STDERR_TAIL_BYTES = 8 * 1024
STDOUT_TAIL_BYTES = 2 * 1024
_KILLED = -9
_KILLED_IN_SHELL = 128 + 9


class Child:
    """A started program that is supervised until none of its processes is alive."""

    def __init__(
        self,
        handle: ChildHandle,
        command: Command,
        sink: Sink,
        transcript: Transcript,
        conversation: Conversation | None = None,
    ) -> None:
        self._handle, self._keeper = handle, handle.keeper
        self._is_merged = handle.stderr is None  # errors are in the output of a terminal
        self._command, self._sink, self._transcript = command, sink, transcript
        self._conversation = conversation
        self._terminate: asyncio.TimerHandle | None = None
        self._marker = command.env.get(MARKER, "")
        self._sampler = ResourceSampler(self._keeper, command.memory_mb, self._stop_for_memory)
        self._watching: list[asyncio.Task[None]] = []
        self._oom_kills = count_oom_kills(command.oom_counter)
        self._stderr_transcript = Transcript(f"{command.transcript}.stderr" if command.transcript else "")
        self._loop = asyncio.get_running_loop()
        self._started_at = self._last_output_at = self._loop.time()
        self._exited_at = math.inf
        self._stdout_bytes = 0
        self._stderr_tail = self._stdout_tail = b""  # the last bytes of each stream
        self._idle_allowed_until = -math.inf
        self._reason = ""
        self._lines, self._error_lines = LineSplitter(), LineSplitter()
        self._first_check_seconds = _first_check_seconds(command)
        self._has_result = False
        self._stopping = False
        self._stop_reason: StopReason | None = None
        self._failure: BaseException | None = None
        changed = self._keeper.changed.set
        self._stdout = Output(handle.stdout, self._receive_output, changed, self._fail)
        self._stderr = Output(handle.stderr, self._receive_error_output, changed, self._fail)

    async def finish(self) -> Exit:
        """Wait until none of its processes is alive; a cancellation stops them first and is then raised."""
        try:
            self._start()
            await self._watch()
        except asyncio.CancelledError as error:
            await self._stop_after_cancellation(at_once=KILL_NOW in error.args)
            raise
        finally:
            if self._keeper.lost:
                await self._clean_up_after_keeper()
            elif sys.platform != "linux":
                await kill_orphans(self._keeper.forker, self._marker)
            self._close()
        if self._failure:
            raise self._failure
        return self._describe()

    def _start(self) -> None:
        self._sampler.start()
        self._watching = [asyncio.create_task(self._stop_on_excess(one)) for one in self._command.watches]
        if self._conversation and self._handle.input:
            send = self._handle.input.write
            self._guard(lambda conversation=self._conversation: conversation.start(send))

    async def _stop_after_cancellation(self, at_once: bool) -> None:
        if not at_once:
            await self._wait_after_stop_notice()
        await self._keeper.stop_and_wait(0 if at_once else self._command.grace_seconds)

    async def _watch(self) -> None:
        while not (self._keeper.gone or self._keeper.lost):
            at, reason = self._next_deadline()
            if at > self._loop.time():
                await self._sleep_until(at)
            elif reason is StopReason.IDLE and self._command.supervision:
                await self._check_idle(self._command.supervision)
            else:
                self._stop(reason)

    def _next_deadline(self) -> tuple[float, StopReason | None]:
        """Return when to stop the program if nothing happens before, and the reason."""
        if self._stopping:
            return math.inf, None
        if self._keeper.status is not None:
            self._handle.close_input()
            self._exited_at = min(self._exited_at, self._loop.time())
            drained = not (self._stdout.open or self._stderr.open)
            return (self._exited_at + (0 if drained else DRAIN_SECONDS)), None
        deadlines = [
            (self._started_at + self._command.timeout_seconds, StopReason.TIMEOUT),
            (self._next_idle_check(), StopReason.IDLE),
        ]
        if self._has_result:
            deadlines.append(
                (self._last_output_at + self._command.result_grace_seconds, StopReason.AFTER_RESULT)
            )
        return min(deadlines)

    def _next_idle_check(self) -> float:
        """Return when to check an idle program."""
        supervision = self._command.supervision
        if supervision is None:
            return self._last_output_at + self._command.idle_timeout_seconds
        return max(self._last_output_at + supervision.first_check_seconds, self._idle_allowed_until)

    async def _check_idle(self, supervision: Supervision) -> None:
        """Apply the decision of the supervision, unless the program printed something or exited meanwhile."""
        last_output_at = self._last_output_at
        try:
            verdict = await supervision.check_idle(self._create_idle_report())
        except Exception as error:  # noqa: BLE001  (as in Output: the program is stopped first)
            self._fail(error)
            return
        if self._stopping or self._last_output_at != last_output_at or self._keeper.status is not None:
            return
        match verdict:
            case ExtendIdleTimeout(seconds=seconds):
                self._idle_allowed_until = self._loop.time() + seconds
            case StopNow(cause=cause, reason=reason):
                self._reason = reason
                self._stop(cause)

    def _create_idle_report(self) -> IdleTimeout:
        assert self._keeper.program
        return IdleTimeout(
            pid=self._keeper.program.keeper,
            cwd=self._command.cwd,
            seconds=self._loop.time() - self._last_output_at,
            stdout_tail=self._stdout_tail.decode("utf-8", "replace"),
            stderr_tail=self._stderr_tail.decode("utf-8", "replace"),
        )

    def _stop(self, reason: StopReason | None) -> None:
        self._stopping = True
        self._stop_reason = reason
        stop, grace = self._keeper.stop, self._command.grace_seconds
        if reason is StopReason.MEMORY:
            stop(min(grace, MEMORY_GRACE_SECONDS))
        elif self._notify_stop():
            self._terminate = self._loop.call_later(STOP_NOTICE_SECONDS, stop, grace)
        else:
            stop(grace)

    def _stop_for_memory(self) -> None:
        if self._stopping or self._keeper.status is not None:
            return
        self._reason = (
            f"it and its child processes used {self._sampler.peak_mb} MB,"
            f" and memory_mb of its pool is {self._command.memory_mb}"
        )
        self._stop(StopReason.MEMORY)

    async def _stop_on_excess(self, watch: Watch) -> None:
        try:
            excess = await watch.wait_for_excess()
        except Exception as error:  # noqa: BLE001  (as in Output: the program is stopped first)
            self._fail(error)
            return
        if not self._stopping and self._keeper.status is None:
            self._reason = excess.reason
            self._stop(excess.cause)

    def _notify_stop(self) -> bool:
        """Announce the stop in the conversation and close the input; return False if there is no
        conversation.
        """
        if not (self._conversation and self._handle.input) or self._failure or self._has_result:
            return False
        self._guard(self._conversation.prepare_stop)
        self._handle.input.end()
        return True

    async def _wait_after_stop_notice(self) -> None:
        """Give the program a moment to exit after the announcement; a second cancellation kills it."""
        if self._stopping or not self._notify_stop():
            return
        try:
            async with asyncio.timeout(STOP_NOTICE_SECONDS):
                while not (self._keeper.gone or self._keeper.lost):
                    await self._keeper.wait()
        except TimeoutError:
            return
        except asyncio.CancelledError:
            self._keeper.stop(0)

    def _guard(self, step: Callable[[], None]) -> None:
        """Run a step of the conversation; finish() raises its error."""
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

    def _receive_output(self, chunk: bytes) -> None:
        self._last_output_at = self._loop.time()
        self._stdout_bytes += len(chunk)
        self._stdout_tail = (self._stdout_tail + chunk[-STDOUT_TAIL_BYTES:])[-STDOUT_TAIL_BYTES:]
        if self._failure:
            return
        clean = self._transcript.write(chunk)
        if self._is_merged:
            self._keep_error_output(clean)
        for line in self._lines.feed(chunk):
            self._pass_line(line)
        self._check_output()

    def _pass_line(self, line: bytes) -> None:
        text = strip_controls(line) if self._is_merged else line
        if self._sink(text) and not self._has_result:
            self._has_result = True
            if self._handle.input:
                self._handle.input.end()
            self._keeper.changed.set()

    def _receive_error_output(self, chunk: bytes) -> None:
        self._last_output_at = self._loop.time()
        if self._failure:
            return
        self._keep_error_output(self._stderr_transcript.write(chunk))
        if self._command.on_error_line:
            for line in self._error_lines.feed(chunk):
                self._command.on_error_line(line)
        self._check_output()

    def _check_output(self) -> None:
        """Apply what the supervision decides after an output."""
        supervision = self._command.supervision
        if supervision is None or self._stopping or self._has_result or self._keeper.status is not None:
            return
        if stop := supervision.check_output():
            self._reason = stop.reason
            self._stop(stop.cause)
        elif supervision.first_check_seconds != self._first_check_seconds:
            self._first_check_seconds = supervision.first_check_seconds
            self._idle_allowed_until = -math.inf
            self._keeper.changed.set()

    def _keep_error_output(self, clean: bytes) -> None:
        """Keep the end of what was written: a part of a secret would not be recognized any more."""
        self._stderr_tail = (self._stderr_tail + clean)[-STDERR_TAIL_BYTES:]

    def _fail(self, error: BaseException) -> None:
        """Stop the program after an error of the sink or the disk; later output is discarded."""
        self._failure = self._failure or error
        if not self._stopping:
            self._stop(None)

    async def _clean_up_after_keeper(self) -> None:
        """Wait until the forker killed what a lost keeper left, and kill the processes that we adopted."""
        await self._keeper.wait_for_cleanup()
        await kill_orphans(self._keeper.forker, self._marker)

    def _close(self) -> None:
        """Read the remaining output and close all files."""
        self._sampler.stop()
        for task in self._watching:
            task.cancel()
        if self._terminate:
            self._terminate.cancel()
        for output in (self._stdout, self._stderr):
            output.drain()
            output.close()
        try:
            self._pass_last_lines()
        finally:
            with closing(self._handle), closing(self._transcript):
                self._keep_error_output(self._stderr_transcript.close())

    def _pass_last_lines(self) -> None:
        """Pass the last lines, which have no newline."""
        if self._failure:
            return
        for line in self._lines.finish():
            self._pass_line(line)
        if self._command.on_error_line:
            for line in self._error_lines.finish():
                self._command.on_error_line(line)

    def _describe(self) -> Exit:
        status = _KILLED if self._keeper.status is None else self._keeper.status
        oom_killed = self._is_killed(status) and was_oom_killed_since(
            self._oom_kills, self._command.oom_counter
        )
        return Exit(
            status=status,
            duration_seconds=self._loop.time() - self._started_at,
            stopped=self._stop_reason,
            reason=self._describe_limit() if oom_killed else self._reason,
            stdout_bytes=self._stdout_bytes,
            long_lines=self._lines.long_lines,
            stderr_tail=self._read_error_output(),
            leftovers=self._keeper.leftovers,
            peak_memory_mb=self._sampler.peak_mb,
            oom_killed=oom_killed,
            helper_problem=self._keeper.problem,
            keeper_killed=self._keeper.status is None and not self._keeper.problem,
        )

    def _read_error_output(self) -> str:
        """Return the end of the error output; of a terminal, the lines that are not JSON of the agent."""
        text = self._stderr_tail.decode("utf-8", "replace")
        if not self._is_merged:
            return text
        # The first line may be the end of a longer one.
        lines = strip_control_characters(text).splitlines()[len(text) >= STDERR_TAIL_BYTES :]
        return "\n".join(line for line in lines if not line.lstrip().startswith(("{", "[")))

    def _is_killed(self, status: int) -> bool:
        return self._stop_reason is None and status in (_KILLED, _KILLED_IN_SHELL)

    def _describe_limit(self) -> str:
        """Return the limit that a program in its own control group reached."""
        limit = self._command.memory_mb
        return f"memory_mb of its pool is {limit}" if self._command.oom_counter and limit else ""


def strip_controls(line: bytes) -> bytes:
    """Return a line of a terminal without control sequences."""
    text = strip_control_characters(line.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape")


def _first_check_seconds(command: Command) -> float:
    return command.supervision.first_check_seconds if command.supervision else command.idle_timeout_seconds
