"""Reads the output of one run of an agent and evaluates how it ended: its own report first, then its exit."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ostler.errors import Code, is_invalid_request
from ostler.executors.exit_status import RunStatus, classify_exit, classify_rejected_arguments
from ostler.executors.failures import FailureTable, classify_failure, is_error_answer
from ostler.executors.limits.reading import add_limits
from ostler.executors.limits.retries import RetryLines, describe_wait, seconds_of_limit
from ostler.executors.stream_state import ReportedFailure, StreamState
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.command import Exit, StopReason
from ostler.text import first_line

# An exit that explains a run by itself, and an exit that needs a better explanation.
_SPECIFIC = (Code.AGENT_KILLED, Code.AGENT_OOM, Code.TIMEOUT, Code.IDLE_TIMEOUT, Code.NEEDS_INPUT)
_UNSPECIFIC = (Code.AGENT_FAILED, Code.NO_RESULT, Code.RESPONSE_EMPTY)

Decode = Callable[[bytes, StreamState], bool]
"""Reads one line of an agent's output into a StreamState; returns True when the agent has finished."""


class OutputFormat(Struct, frozen=True):
    """How to read the output of one agent program, and its failures."""

    program: str
    decode: Decode
    failures: FailureTable = FailureTable()
    retry_lines: RetryLines = RetryLines()  # in the error output, and in output that is not JSON


class StreamReader:
    """Reads the lines of one run, then evaluates the run."""

    def __init__(self, output_format: OutputFormat, call: AgentCall, on_event: OnEvent) -> None:
        self._format = output_format
        self._call = call
        self._state = StreamState(call, on_event)

    def read_line(self, line: bytes) -> bool:
        """Read one line; return True when the agent has given its result."""
        if not line.lstrip().startswith(b"{"):
            self.read_error_line(line)
        return self._format.decode(line, self._state)

    def read_error_line(self, line: bytes) -> None:
        """Read one line of the error output: it may report a retry."""
        read_retry_line(line, self._state, self._format)

    def evaluate(self, exit: Exit) -> CallResult:
        """Return the result of the run."""
        self._state.close(exit.long_lines)
        return evaluate_run(self._call, self._state, exit, self._format)


def read_retry_line(line: bytes, state: StreamState, output_format: OutputFormat) -> None:
    """Report the retry that a line is about, if it is about one."""
    retry = output_format.retry_lines.find(line, output_format.failures)
    if retry is not None and not state.finished:
        state.start_session(retry.session_id)
        state.report_retry(retry.code, retry.delay_seconds, retry.text)


def evaluate_run(call: AgentCall, state: StreamState, exit: Exit, output_format: OutputFormat) -> CallResult:
    """Return the result of one run from its output and its exit."""
    if state.finished and is_error_answer(state.text):
        state.fail(state.text)
    status = _status(state, exit, output_format)
    failure = state.failure or ReportedFailure("")
    result = CallResult(
        code=status.code,
        message=status.message,
        text=state.text if status.code is None else "",
        session_id=state.session_id or call.session_id,
        model=state.model or call.model,
        exit_code=exit.status,
        duration_seconds=exit.duration_seconds,
        peak_memory_mb=exit.peak_memory_mb,
        usage=state.usage,
        session_usage=state.session_usage,
        cost_usd=state.cost_usd,
        session_cost_usd=None if state.cost_usd is None else call.session_cost_usd + state.cost_usd,
        final=exit.stopped is StopReason.PROVIDER or is_invalid_request(status.code, failure.status),
        warnings=("RESPONSE_TRUNCATED",) * state.truncated + ("PERMISSION_DENIED",) * state.denied,
    )
    wait = failure.retry_after_seconds
    if exit.stopped is StopReason.PROVIDER:
        wait = seconds_of_limit(state.retry, state.retry_text)
    return add_limits(result, f"{exit.stderr_tail}\n{failure.text}", wait_seconds=wait)


def _status(state: StreamState, exit: Exit, output_format: OutputFormat) -> RunStatus:
    if exit.stopped is StopReason.PROVIDER:
        return describe_wait(state.retry, state.retry_text, exit, output_format.program)
    if state.failure is not None:
        return _classify_reported(state.failure, exit, output_format, state.finished)
    if not state.finished:
        return _classify_unfinished(state, exit, output_format)
    program = output_format.program
    if exit.status != 0 and exit.stopped is None:
        return _classify_by_exit(exit, output_format, f"{program}, after its answer,")
    if not state.text.strip():
        return RunStatus(Code.RESPONSE_EMPTY, f"{program} returned an empty answer")
    return RunStatus(None)


def _classify_reported(
    failure: ReportedFailure, exit: Exit, output_format: OutputFormat, finished: bool
) -> RunStatus:
    """Classify the failure that the agent reported; when no rule matches, use the exit of its process."""
    reason = first_line(failure.text) or "no reason given"
    table, program = output_format.failures, output_format.program
    code = classify_failure(failure.text, failure.status or table.http_exit_codes.get(exit.status), table)
    by_exit = classify_exit(exit, program)
    if code is None and not finished and by_exit.code in _SPECIFIC:
        return RunStatus(by_exit.code, f"{by_exit.message}; it had reported: {reason}")
    code = code or _exit_code(exit, table) or Code.AGENT_FAILED
    return RunStatus(code, f"{program} failed: {reason}")


def _classify_unfinished(state: StreamState, exit: Exit, output_format: OutputFormat) -> RunStatus:
    program = output_format.program
    if rejected := classify_rejected_arguments(exit, program, output_format.failures):
        return rejected
    status = _classify_by_exit(exit, output_format, program)
    if state.retry is None:
        return status
    if exit.stopped is not None:
        waiting = f"while it was waiting for its provider ({state.retry.code})"
        return RunStatus(status.code, f"{status.message} {waiting}")
    return RunStatus(state.retry.code if status.code in _UNSPECIFIC else status.code, status.message)


def _classify_by_exit(exit: Exit, output_format: OutputFormat, program: str) -> RunStatus:
    """Classify the exit; an unspecific one is explained by stderr and the program's own exit codes."""
    status = classify_exit(exit, program)
    code = _exit_code(exit, output_format.failures) if status.code in _UNSPECIFIC else None
    return RunStatus(code or status.code, status.message)


def _exit_code(exit: Exit, table: FailureTable) -> Code | None:
    if exit.status == 0:
        return None
    code = classify_failure(exit.stderr_tail, table.http_exit_codes.get(exit.status), table)
    return code or table.exit_codes.get(exit.status)
