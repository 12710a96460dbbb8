"""Maps the exit of a program to a code, for when its output reports nothing better."""

from __future__ import annotations

import re
import signal

from msgspec import Struct

from ostler.errors import CODES, Code, OstlerError
from ostler.executors.failures import FailureTable
from ostler.lazy import lazy_pattern
from ostler.model.call import CallResult
from ostler.model.command import Exit, StopReason
from ostler.process.spawn_failure import explain_refused_start
from ostler.text import first_line, last_line

_STOPPED = {
    StopReason.TIMEOUT: Code.TIMEOUT,
    StopReason.IDLE: Code.IDLE_TIMEOUT,
    StopReason.NEEDS_INPUT: Code.NEEDS_INPUT,
    StopReason.AFTER_RESULT: Code.NO_RESULT,
    StopReason.MEMORY: Code.AGENT_OOM,
    StopReason.DISK: Code.DISK_LIMIT,
    StopReason.PROVIDER: Code.RATE_LIMITED,
}
_TIMEOUTS = {StopReason.TIMEOUT: "timeout", StopReason.IDLE: "idle timeout"}
_EXIT_CODES = {
    0: (Code.NO_RESULT, "without giving a result"),
    126: (Code.AGENT_NOT_FOUND, "because a program that it needs may not be executed"),
    127: (Code.AGENT_NOT_FOUND, "because a program that it needs was not found"),
}
_NOT_STARTED = (126, 127)

# Node prints this before it aborts.
_HEAP_EXHAUSTED = "JavaScript heap out of memory"


class RunStatus(Struct, frozen=True):
    """How one run of a program ended: a code and one sentence; code None is success."""

    code: Code | None
    message: str = ""


def classify_exit(exit: Exit, program: str) -> RunStatus:
    """Return why there is no result, from the exit alone."""
    if exit.helper_problem and (exit.stopped in _TIMEOUTS or exit.status == -signal.SIGKILL):
        return RunStatus(Code.HELPER_STUCK, _describe_helper_problem(exit, program))
    if exit.stopped is not None:
        code, seconds = _STOPPED[exit.stopped], _format_seconds(exit.duration_seconds)
        seen = f" ({first_line(exit.reason)})" if exit.reason else ""
        return RunStatus(code, f"{program} was stopped after {seconds} s: {CODES[code].meaning}{seen}")
    if number := exit.signal:
        return _classify_signal(exit, number, program)
    last = first_line(last_line(exit.stderr_tail))
    if exit.status in _NOT_STARTED and (reason := explain_refused_start(last)):
        return RunStatus(Code.AGENT_NOT_FOUND, reason)
    code, why = _EXIT_CODES.get(exit.status, (Code.AGENT_FAILED, "and gave no reason"))
    if exit.status == 0 and exit.stdout_bytes == 0:
        code, why = Code.RESPONSE_EMPTY, "and printed nothing"
    reason = f": {last}" if last else f" {why}"
    return RunStatus(code, f"{program} exited with status {exit.status}{reason}")


def result_from_error(error: OstlerError) -> CallResult:
    """Return the result of a program that could not be started or read."""
    return CallResult(error.code, f"{error.message} ({error.hint})" if error.hint else error.message)


def _format_seconds(seconds: float) -> str:
    return f"{seconds:.1g}" if seconds < 1 else str(round(seconds))


def _describe_helper_problem(exit: Exit, program: str) -> str:
    ended = f"{program} was ended after {_format_seconds(exit.duration_seconds)} s"
    if exit.stopped is None or exit.stopped not in _TIMEOUTS:
        return f"{ended}: {exit.helper_problem}"
    return f"{ended} by the {_TIMEOUTS[exit.stopped]}; before that, {exit.helper_problem}"


def _classify_signal(exit: Exit, number: int, program: str) -> RunStatus:
    # The exit does not name the sender of the signal; the kernel's counter of such kills is the evidence.
    if number == signal.SIGKILL and exit.oom_killed:
        if exit.reason:
            # The peak is that of the last sample, which may be far below the limit.
            message = f"{program} was killed by the kernel at the limit of its memory: {exit.reason}"
            return RunStatus(Code.AGENT_OOM, message)
        used = f", after using {exit.peak_memory_mb} MB" if exit.peak_memory_mb else ""
        message = f"{program} was killed by the kernel, which had no memory left{used}: run fewer at once"
        return RunStatus(Code.AGENT_OOM, message)
    if _HEAP_EXHAUSTED in exit.stderr_tail:
        message = f"{program} used up its heap: raise it with NODE_OPTIONS=--max-old-space-size=MB in its env"
        return RunStatus(Code.AGENT_OOM, message)
    if exit.keeper_killed:
        message = f"{program} was ended because its keeper, a helper process, was killed, and not by Ostler"
        return RunStatus(Code.AGENT_KILLED, message)
    message = f"{program} was ended by {_signal_name(number)}, which Ostler did not send"
    return RunStatus(Code.AGENT_KILLED, message)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_USAGE_ERRORS = (1, 2)  # exit codes of a program that does not accept its arguments
_REJECTED_ARGUMENT = lazy_pattern(
    r"^.*(?:unknown|unrecogni[sz]ed|unexpected|invalid|no such) (?:option|argument|flag)s?\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_HELP = lazy_pattern(r"^\s{0,8}-h, --help\b", re.MULTILINE)


def classify_rejected_arguments(
    exit: Exit, program: str, table: FailureTable | None = None
) -> RunStatus | None:
    """Return AGENT_INCOMPATIBLE when the program rejected an argument, or None for another failure.

    Call it before the tables: a help screen may match any rule. A text beside the help screen that
    matches the agent's own table is the reason, and not the help screen.
    """
    stderr = exit.stderr_tail
    if exit.stopped is not None or exit.status not in _USAGE_ERRORS or exit.stdout_bytes:
        return None
    if found := _REJECTED_ARGUMENT.search(stderr):
        return _incompatible(program, first_line(found[0]))
    if _HELP.search(stderr) and not (table and table.matches_text(stderr)):
        return _incompatible(program, "it printed its help instead")
    return None


def _incompatible(program: str, why: str) -> RunStatus:
    return RunStatus(Code.AGENT_INCOMPATIBLE, f"{program} did not accept an argument of Ostler: {why}")
