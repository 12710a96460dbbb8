"""How one run of an agent ended: what it said about itself first, then its exit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ostler.errors import Code
from ostler.executors.ending import Ending, ending_of
from ostler.executors.error_text import is_error_answer
from ostler.executors.failure import Words, code_of_failure, retry_after
from ostler.executors.hearing import Failure, Hearing
from ostler.executors.refusal import refusal_of
from ostler.executors.wire import one_line
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.command import Exit

_WAITS = (Code.RATE_LIMITED, Code.QUOTA_EXCEEDED, Code.OVERLOADED)
_SAYS_ENOUGH = (Code.AGENT_KILLED, Code.AGENT_OOM, Code.TIMEOUT, Code.IDLE_TIMEOUT, Code.NEEDS_INPUT)
_SAYS_LITTLE = (Code.AGENT_FAILED, Code.NO_RESULT, Code.RESPONSE_EMPTY)

Decode = Callable[[bytes, Hearing], bool]
"""Reads one line of an agent's stream into a Hearing; True when it is the agent's last word."""


class Manner(Struct, frozen=True):
    """How one agent program talks, and how it fails."""

    program: str
    decode: Decode
    words: Words = {}  # its own, beside what every provider says
    http: Mapping[int, int] = {}  # exit codes that stand for an HTTP status
    statuses: Mapping[int, Code] = {}  # what its other exit codes mean


class Listener:
    """A sink for one run, which can judge it afterwards."""

    def __init__(self, manner: Manner, call: AgentCall, on_event: OnEvent) -> None:
        self._manner = manner
        self._call = call
        self._heard = Hearing(call, on_event)

    def take(self, line: bytes) -> bool:
        """Read one line; True when the agent has given its result."""
        return self._manner.decode(line, self._heard)

    def judge(self, exit: Exit) -> CallResult:
        """Everything that the run said and how it exited, as a CallResult."""
        self._heard.close(exit.long_lines)
        return judge(self._call, self._heard, exit, self._manner)


def judge(call: AgentCall, heard: Hearing, exit: Exit, manner: Manner) -> CallResult:
    """The result of one run of this program."""
    if heard.finished and is_error_answer(heard.text):
        heard.fail(heard.text)
    ending = _ending(heard, exit, manner)
    return CallResult(
        code=ending.code,
        message=ending.message,
        text=heard.text if ending.code is None else "",
        session_id=heard.session_id or call.session_id,
        model=heard.model or call.model,
        exit_code=exit.status,
        duration_seconds=exit.duration_seconds,
        peak_memory_mb=exit.peak_memory_mb,
        usage=heard.usage,
        session_usage=heard.session_usage,
        cost_usd=heard.cost_usd,
        session_cost_usd=None if heard.cost_usd is None else call.session_cost_usd + heard.cost_usd,
        retry_after_seconds=_retry_after(heard, exit, ending),
        warnings=("RESPONSE_TRUNCATED",) * heard.truncated + ("PERMISSION_DENIED",) * heard.denied,
    )


def _ending(heard: Hearing, exit: Exit, manner: Manner) -> Ending:
    if heard.failure is not None:
        return _failed(heard.failure, exit, manner, heard.finished)
    if not heard.finished:
        return _without_result(heard, exit, manner)
    if exit.status != 0 and exit.stopped is None:
        return _by_exit(exit, manner, f"{manner.program}, after its answer,")
    if not heard.text.strip():
        return Ending(Code.RESPONSE_EMPTY, f"{manner.program} answered nothing")
    return Ending(None)


def _failed(failure: Failure, exit: Exit, manner: Manner, finished: bool) -> Ending:
    """What the agent says went wrong; where that means nothing to us, how its process ended."""
    said = one_line(failure.text) or "no reason given"
    named = code_of_failure(failure.text, failure.status or manner.http.get(exit.status), manner.words)
    ending = ending_of(exit, manner.program)
    if named is None and not finished and ending.code in _SAYS_ENOUGH:
        return Ending(ending.code, f"{ending.message}; it had said: {said}")
    code = named or _code_of_exit(exit, manner) or Code.AGENT_FAILED
    return Ending(code, f"{manner.program} failed: {said}")


def _without_result(heard: Hearing, exit: Exit, manner: Manner) -> Ending:
    if refused := refusal_of(exit, manner.program, manner.words):
        return refused
    ending = _by_exit(exit, manner, manner.program)
    if heard.retry is None:
        return ending
    if exit.stopped is not None:
        return Ending(ending.code, f"{ending.message} while it waited for its provider ({heard.retry.code})")
    return Ending(heard.retry.code if ending.code in _SAYS_LITTLE else ending.code, ending.message)


def _by_exit(exit: Exit, manner: Manner, program: str) -> Ending:
    """What the exit says; where it says little, stderr and the program's own exit codes say more."""
    ending = ending_of(exit, program)
    named = _code_of_exit(exit, manner) if ending.code in _SAYS_LITTLE else None
    return Ending(named or ending.code, ending.message)


def _code_of_exit(exit: Exit, manner: Manner) -> Code | None:
    if exit.status == 0:
        return None
    named = code_of_failure(exit.stderr_tail, manner.http.get(exit.status), manner.words)
    return named or manner.statuses.get(exit.status)


def _retry_after(heard: Hearing, exit: Exit, ending: Ending) -> float | None:
    if ending.code not in _WAITS:
        return None
    if heard.failure is None:
        return retry_after(exit.stderr_tail)
    return heard.failure.retry_after_seconds or retry_after(heard.failure.text)
