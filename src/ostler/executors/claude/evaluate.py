"""Evaluates how one run of claude ended, from the last result and the exit; the subtype is not reliable."""

from __future__ import annotations

import time

from ostler.clock import Now
from ostler.errors import Code, is_invalid_request
from ostler.executors.claude.failures import CLAUDE_FAILURES
from ostler.executors.claude.messages import Result
from ostler.executors.claude.stream import ClaudeStream
from ostler.executors.exit_status import RunStatus, classify_exit, classify_rejected_arguments
from ostler.executors.failures import Evidence, is_error_answer, is_short_enough_for_error
from ostler.executors.limits.reading import add_limits, has_rejected
from ostler.executors.limits.retries import RetryLines, describe_wait, seconds_of_limit
from ostler.model.call import AgentCall, Billing, CallResult, OnEvent
from ostler.model.command import Exit, StopReason
from ostler.text import first_line

# Newer versions report the cost of the whole session.
_LAST_PER_RUN_COST = (2, 1, 197)
_SUBSCRIPTION_SOURCES = ("none", "oauth")  # of the key: there is none, or it belongs to a login
_UNSPECIFIC = (Code.AGENT_FAILED, Code.NO_RESULT)
# What a run without an answer may end with when a window of the subscription has rejected its last request.
_BY_REJECTION = (*_UNSPECIFIC, Code.RATE_LIMITED, Code.API_ERROR, Code.IDLE_TIMEOUT)


class ClaudeReader:
    """Reads the lines of one run, then evaluates the run."""

    def __init__(
        self, call: AgentCall, on_event: OnEvent, program: str = "claude", *, counts_messages: bool = True
    ) -> None:
        self._call = call
        self._program = program
        self._stream = ClaudeStream(on_event, counts_messages=counts_messages)

    def read_line(self, line: bytes) -> bool:
        """Read one line; return True when it is a result."""
        return self._stream.read_line(line)

    def read_error_line(self, line: bytes) -> None:
        """Read one line of the error output: it may report a retry."""
        if retry := RetryLines().find(line, CLAUDE_FAILURES):
            self._stream.report_retry(retry.reported, retry.text)

    def evaluate(self, exit: Exit) -> CallResult:
        """Return the result of the run."""
        self._stream.close(exit.long_lines)
        return evaluate_claude_run(self._call, self._stream, exit, time.time, self._program)


def evaluate_claude_run(
    call: AgentCall, stream: ClaudeStream, exit: Exit, now: Now, program: str = "claude"
) -> CallResult:
    """Return the result of one run from its output and its exit."""
    status = _explain_by_limit(_status(stream, exit, program), stream, stream.model or call.model)
    cost, total = _costs(call, stream)
    text = stream.result.text if stream.result and status.code is None else ""
    result = CallResult(
        code=status.code,
        message=status.message,
        text=text,
        session_id=stream.session_id or call.session_id,
        model=stream.model or call.model,
        exit_code=exit.status,
        duration_seconds=exit.duration_seconds,
        peak_memory_mb=exit.peak_memory_mb,
        usage=stream.usage,
        cost_usd=cost,
        session_cost_usd=total,
        final=exit.stopped is StopReason.PROVIDER or _is_invalid_request(stream, status),
        warnings=_warnings(stream, status),
        billing=_billing(stream.api_key_source),
    )
    is_ended = exit.stopped is StopReason.PROVIDER
    wait = seconds_of_limit(stream.retry, stream.retry_text) if is_ended else None
    return add_limits(result, f"{exit.stderr_tail}\n{_error_text(stream)}", stream.windows, wait, now)


def _is_invalid_request(stream: ClaudeStream, status: RunStatus) -> bool:
    return stream.result is not None and is_invalid_request(status.code, stream.result.api_error_status)


def _error_text(stream: ClaudeStream) -> str:
    """Return the text of the error; a long one is the agent's own."""
    text = stream.result.text if stream.result else ""
    return text if is_short_enough_for_error(text) else ""


def _explain_by_limit(status: RunStatus, stream: ClaudeStream, model: str) -> RunStatus:
    """Return QUOTA_EXCEEDED for a failure after a window has rejected the last request.

    A window of other models does not explain it, nor does extra usage that the account does not have.
    """
    is_rejected = stream.is_rejected or has_rejected(stream.windows, model)
    is_limit = status.code in _BY_REJECTION and is_rejected
    return RunStatus(Code.QUOTA_EXCEEDED, status.message) if is_limit else status


def _status(stream: ClaudeStream, exit: Exit, program: str) -> RunStatus:
    if stream.result is None:
        return _classify_unfinished(stream, exit, program)
    if stream.result.failed or is_error_answer(stream.result.text):
        return _classify_result(stream.result, stream.error_type, program)
    if exit.status != 0 and exit.stopped is None:
        return _classify_by_exit(exit, f"{program}, after its answer,")
    if not stream.result.text.strip():
        return RunStatus(Code.RESPONSE_EMPTY, f"{program} returned an empty answer")
    return RunStatus(None)


def _classify_result(result: Result, error_type: str, program: str) -> RunStatus:
    is_agents_own = bool(result.result) and not is_short_enough_for_error(result.text)
    evidence = Evidence(
        text="" if is_agents_own else result.text,
        terminal_reason=result.terminal_reason or "",
        stop_reason=result.stop_reason or "",
        error_type=error_type,
        status=result.api_error_status,
    )
    reason = first_line(result.text) or "no reason given"
    return RunStatus(CLAUDE_FAILURES.classify(evidence) or Code.AGENT_FAILED, f"{program} failed: {reason}")


def _classify_unfinished(stream: ClaudeStream, exit: Exit, program: str) -> RunStatus:
    if exit.stopped is StopReason.PROVIDER:
        return describe_wait(stream.retry, stream.retry_text, exit, program)
    if rejected := classify_rejected_arguments(exit, program):
        return rejected
    status = _classify_by_exit(exit, program)
    if exit.stopped is not None:
        waiting = f" while it was waiting for its provider ({stream.retry.code})" if stream.retry else ""
        return RunStatus(status.code, status.message + waiting)
    if stream.retry and status.code in _UNSPECIFIC:
        return RunStatus(stream.retry.code, status.message)
    return status


def _classify_by_exit(exit: Exit, program: str) -> RunStatus:
    """Classify the exit; an unspecific one is explained by stderr."""
    status = classify_exit(exit, program)
    code = CLAUDE_FAILURES.classify(Evidence(text=exit.stderr_tail)) if status.code in _UNSPECIFIC else None
    return RunStatus(code or status.code, status.message)


def _costs(call: AgentCall, stream: ClaudeStream) -> tuple[float | None, float | None]:
    """Return the cost of this run and of the session so far."""
    reported = stream.result.total_cost_usd if stream.result else None
    before = call.session_cost_usd
    if reported is None:
        return None, None
    if _version(stream.version) <= _LAST_PER_RUN_COST or reported == 0:
        return reported, before + reported
    return (reported - before if reported >= before else reported), reported


def _version(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(".") if part.isdecimal())
    return numbers or (_LAST_PER_RUN_COST[0] + 1,)


def _billing(api_key_source: str) -> Billing | None:
    if not api_key_source:
        return None
    return "subscription" if api_key_source in _SUBSCRIPTION_SOURCES else "api"


def _warnings(stream: ClaudeStream, status: RunStatus) -> tuple[str, ...]:
    cut = stream.result is not None and stream.result.stop_reason == "max_tokens"
    truncated = cut or status.code is Code.OUTPUT_LIMIT
    return ("RESPONSE_TRUNCATED",) * truncated + ("PERMISSION_DENIED",) * stream.denied
