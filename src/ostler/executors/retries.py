"""Retries that agent programs make themselves: the lines that report them, and what their limit means."""

from __future__ import annotations

import re
import time

from msgspec import Struct

from ostler.errors import Code
from ostler.executors.exit_status import RunStatus
from ostler.executors.failures import SHARED_FAILURES, FailureTable, classify_failure
from ostler.executors.limits.reading import code_of_limit
from ostler.executors.limits.reset_times import read_wait
from ostler.model.call import RetryReported
from ostler.model.command import Exit
from ostler.text import first_line

_MAX_LINE_BYTES = 4000  # of a line that are searched
_RETRIED = (
    *(Code.RATE_LIMITED, Code.QUOTA_EXCEEDED, Code.OVERLOADED),
    *(Code.NETWORK, Code.STREAM_BROKEN, Code.API_ERROR),
)

RETRY_WORDS = r"\b(?:retrying|will retry|reconnecting)\b"
"""Matches the line by which most programs report a retry, such as gemini: `Retrying after 20013483ms...`."""


class RetryLines(Struct, frozen=True):
    """The lines by which one program reports that it repeats a request."""

    # Regular expressions for one line. The groups `error`, `delay` and `session`, if there are any, are the
    # text of the error, the wait of the program and the session that it has begun.
    patterns: tuple[str, ...] = (RETRY_WORDS,)

    def find(self, line: bytes, table: FailureTable = SHARED_FAILURES) -> Retry | None:
        """Return the retry that a line reports; None: it reports none, or not one of a request."""
        text = line[:_MAX_LINE_BYTES].decode("utf-8", "replace")
        for pattern in self.patterns:
            if found := re.search(pattern, text, re.IGNORECASE):
                return _read(found, table)
        return None


class Retry(Struct, frozen=True):
    """A retry as a program reported it."""

    code: Code
    delay_seconds: float  # 0: not reported
    text: str  # the error and the wait
    session_id: str = ""  # if the line has it

    @property
    def reported(self) -> RetryReported:
        """The event of this retry."""
        return RetryReported(self.code, self.delay_seconds)


def _read(found: re.Match[str], table: FailureTable) -> Retry | None:
    groups = found.groupdict("")
    text = groups.get("error") or found.string
    code = classify_failure(text, table=table)
    if code is None or code not in _RETRIED:
        return None
    # What precedes the word is about the limit, which may end earlier or later than the program's own wait.
    wait = f"retry in {delay}" if (delay := groups.get("delay")) else found.string[found.start() :]
    seconds = _read_wait(wait) or _read_wait(text) or 0.0
    return Retry(code, seconds, text, groups.get("session", ""))


def describe_wait(retry: RetryReported | None, text: str, exit: Exit, program: str) -> RunStatus:
    """Return the result of a program that was ended because it waited for its provider."""
    code = retry.code if retry else Code.RATE_LIMITED
    why = first_line(text) or first_line(exit.reason)
    ended = f"{program} waited for its provider and was ended, its session is kept"
    return RunStatus(code_of_limit(code, seconds_of_limit(retry, text)), f"{ended}: {why}")


def seconds_of_limit(retry: RetryReported | None, text: str) -> float | None:
    """Return how long the limit lasts: as the provider reports it, else as the program waits."""
    return _read_wait(text) or (retry.delay_seconds if retry else 0.0) or None


def _read_wait(text: str) -> float | None:
    return read_wait(text, time.time())
