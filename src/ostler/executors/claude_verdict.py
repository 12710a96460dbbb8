"""How one run of claude ended. The last result and the exit decide, never the subtype."""

from __future__ import annotations

import time

from ostler.clock import Now
from ostler.errors import Code
from ostler.executors.claude_codes import Evidence, code_of, reset_time
from ostler.executors.claude_stream import ClaudeStream
from ostler.executors.claude_wire import Result
from ostler.executors.ending import Ending, ending_of
from ostler.executors.error_text import is_brief, is_error_answer
from ostler.executors.refusal import refusal_of
from ostler.executors.wire import one_line
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.command import Exit

_LAST_PER_RUN_COST = (2, 1, 197)  # newer versions report what the whole session has cost
_SAYS_LITTLE = (Code.AGENT_FAILED, Code.NO_RESULT)
_MORE_THAN_A_MINUTE = 61.0  # seconds; claude waits for less itself and tells nobody how much more it was


class ClaudeListener:
    """A sink for one run, which can judge it afterwards."""

    def __init__(self, call: AgentCall, on_event: OnEvent, program: str = "claude") -> None:
        self._call = call
        self._program = program
        self._heard = ClaudeStream(on_event)

    def take(self, line: bytes) -> bool:
        """Read one line; True when it is a result."""
        return self._heard.take(line)

    def judge(self, exit: Exit) -> CallResult:
        """Everything that the run said and how it exited, as a CallResult."""
        self._heard.close(exit.long_lines)
        return judge(self._call, self._heard, exit, time.time, self._program)


def judge(call: AgentCall, heard: ClaudeStream, exit: Exit, now: Now, program: str = "claude") -> CallResult:
    """Everything that one run said and how it exited, as a CallResult."""
    ending = _ending(heard, exit, program)
    cost, total = _costs(call, heard)
    text = heard.result.text if heard.result and ending.code is None else ""
    return CallResult(
        code=ending.code,
        message=ending.message,
        text=text,
        session_id=heard.session_id or call.session_id,
        model=heard.model or call.model,
        exit_code=exit.status,
        duration_seconds=exit.duration_seconds,
        peak_memory_mb=exit.peak_memory_mb,
        usage=heard.usage,
        cost_usd=cost,
        session_cost_usd=total,
        retry_after_seconds=_retry_after(heard, ending, now),
        warnings=_warnings(heard, ending),
    )


def _ending(heard: ClaudeStream, exit: Exit, program: str) -> Ending:
    if heard.result is None:
        return _without_result(heard, exit, program)
    if heard.result.failed or is_error_answer(heard.result.text):
        return _failed(heard.result, heard.error_word, program)
    if exit.status != 0 and exit.stopped is None:
        return _by_exit(exit, f"{program}, after its answer,")
    if not heard.result.text.strip():
        return Ending(Code.RESPONSE_EMPTY, f"{program} answered nothing")
    return Ending(None)


def _failed(result: Result, word: str, program: str) -> Ending:
    written = bool(result.result) and not is_brief(result.text)
    evidence = Evidence(
        text="" if written else result.text,
        terminal=result.terminal_reason or "",
        stop=result.stop_reason or "",
        word=word,
        status=result.api_error_status,
    )
    said = one_line(result.text) or "no reason given"
    return Ending(code_of(evidence) or Code.AGENT_FAILED, f"{program} failed: {said}")


def _without_result(heard: ClaudeStream, exit: Exit, program: str) -> Ending:
    if refused := refusal_of(exit, program):
        return refused
    ending = _by_exit(exit, program)
    if exit.stopped is not None:
        waiting = f" while it waited for its provider ({heard.retry.code})" if heard.retry else ""
        return Ending(ending.code, ending.message + waiting)
    if heard.retry and ending.code in _SAYS_LITTLE:
        return Ending(heard.retry.code, ending.message)
    return ending


def _by_exit(exit: Exit, program: str) -> Ending:
    """What the exit says; where it says little, stderr may say more."""
    ending = ending_of(exit, program)
    named = code_of(Evidence(text=exit.stderr_tail)) if ending.code in _SAYS_LITTLE else None
    return Ending(named or ending.code, ending.message)


def _costs(call: AgentCall, heard: ClaudeStream) -> tuple[float | None, float | None]:
    """The cost of this run and the session's running total."""
    reported = heard.result.total_cost_usd if heard.result else None
    before = call.session_cost_usd
    if reported is None:
        return None, None
    if _version(heard.version) <= _LAST_PER_RUN_COST or reported == 0:
        return reported, before + reported
    return (reported - before if reported >= before else reported), reported


def _version(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(".") if part.isdecimal())
    return numbers or (_LAST_PER_RUN_COST[0] + 1,)


def _retry_after(heard: ClaudeStream, ending: Ending, now: Now) -> float | None:
    if ending.code is Code.RATE_LIMITED and heard.result is not None and not heard.waited:
        return _MORE_THAN_A_MINUTE
    reset = reset_time(ending.message) if ending.code is Code.QUOTA_EXCEEDED else None
    return max(0.0, reset - now()) if reset is not None else None


def _warnings(heard: ClaudeStream, ending: Ending) -> tuple[str, ...]:
    cut = heard.result is not None and heard.result.stop_reason == "max_tokens"
    truncated = cut or ending.code is Code.OUTPUT_LIMIT
    return ("RESPONSE_TRUNCATED",) * truncated + ("PERMISSION_DENIED",) * heard.denied
