"""How a program's exit reads when its output says nothing better."""

from __future__ import annotations

import signal

from msgspec import Struct

from ostler.errors import CODES, Code, OstlerError
from ostler.executors.wire import one_line
from ostler.model.call import AgentCall, CallResult
from ostler.model.command import Command, Exit, Stopped

_STOPPED = {
    Stopped.TIMEOUT: Code.TIMEOUT,
    Stopped.IDLE: Code.IDLE_TIMEOUT,
    Stopped.NEEDS_INPUT: Code.NEEDS_INPUT,
    Stopped.AFTER_RESULT: Code.NO_RESULT,
    Stopped.MEMORY: Code.AGENT_OOM,
}
_STATUS = {
    0: (Code.NO_RESULT, "without giving a result"),
    126: (Code.AGENT_NOT_FOUND, "because a program that it needs may not be executed"),
    127: (Code.AGENT_NOT_FOUND, "because a program that it needs was not found"),
}

_HEAP = "JavaScript heap out of memory"  # the last words of Node before it aborts


class Ending(Struct, frozen=True):
    """The code of a failed attempt and one sentence about it; code None is success."""

    code: Code | None
    message: str = ""


def ending_of(exit: Exit, program: str) -> Ending:
    """Why there is no result, from the exit alone."""
    if exit.stopped is not None:
        code, seconds = _STOPPED[exit.stopped], round(exit.duration_seconds)
        seen = f" ({one_line(exit.reason)})" if exit.reason else ""
        return Ending(code, f"{program} was stopped after {seconds} s: {CODES[code].meaning}{seen}")
    if number := _signal_of(exit.status):
        return _killed(exit, number, program)
    said = one_line(_last_line(exit.stderr_tail))
    code, why = _STATUS.get(exit.status, (Code.AGENT_FAILED, "and gave no reason"))
    if exit.status == 0 and exit.stdout_bytes == 0:
        code, why = Code.RESPONSE_EMPTY, "and printed nothing"
    return Ending(code, f"{program} exited with status {exit.status}" + (f": {said}" if said else f" {why}"))


def result_of(error: OstlerError) -> CallResult:
    """The result of a program that could not be started, or not be listened to."""
    return CallResult(error.code, f"{error.message} ({error.hint})" if error.hint else error.message)


def command_for(call: AgentCall, argv: tuple[str, ...], env: dict[str, str], stdin: bytes = b"") -> Command:
    """The call's own limits and places around this argv."""
    return Command(
        argv=argv,
        cwd=call.cwd,
        env=env,
        stdin=stdin,
        transcript=call.transcript,
        timeout_seconds=call.timeout_seconds,
        idle_timeout_seconds=call.idle_timeout_seconds,
        result_grace_seconds=call.result_grace_seconds,
        grace_seconds=call.grace_seconds,
        nice=call.nice,
        memory_mb=call.memory_mb,
        vigil=call.vigil,
    )


def _killed(exit: Exit, number: int, program: str) -> Ending:
    """By whom, nobody says; the kernel's count of such kills is the evidence."""
    if number == signal.SIGKILL and exit.oom_killed:
        took = f", after taking {exit.peak_memory_mb} MB" if exit.peak_memory_mb else ""
        message = f"{program} was killed by the kernel, which had no memory left{took}: run fewer at once"
        return Ending(Code.AGENT_OOM, message)
    if _HEAP in exit.stderr_tail:
        message = f"{program} used up its heap: raise it with NODE_OPTIONS=--max-old-space-size=MB in its env"
        return Ending(Code.AGENT_OOM, message)
    message = f"{program} was ended by {_signal_name(number)}, which Ostler did not send"
    return Ending(Code.AGENT_KILLED, message)


def _signal_of(status: int) -> int:
    """The signal that ended a program, told by the system or by a shell; 0 for none."""
    if status < 0:
        return -status
    return status - 128 if status - 128 in _SIGNALS else 0


_SIGNALS = frozenset(
    int(number)
    for number in (
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGILL,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGKILL,
        signal.SIGSEGV,
        signal.SIGPIPE,
        signal.SIGTERM,
    )
)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]
