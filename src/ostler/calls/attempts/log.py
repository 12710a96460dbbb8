"""The log of one attempt: one JSON object per line, in the same format for every agent."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ostler.calls.attempts.result import RecordedEvents
from ostler.clock import Now
from ostler.errors import Code
from ostler.model.attempt import Attempt, AttemptStatus
from ostler.model.call import (
    AgentEvent,
    CallResult,
    LineSkipped,
    TextReceived,
    ThinkingReceived,
    ToolReturned,
    ToolUsed,
    UsageReported,
)
from ostler.model.usage import Usage
from ostler.process.transcript import Transcript
from ostler.secrets.redact import to_json

SCHEMA = "ostler.attempt-log/1"
MAX_BYTES = 64 * 1024  # of a tool's input, and of its output
MAX_TEXT_BYTES = 1024 * 1024  # of one message
# The text of an entry of so many bytes fits: no text is longer than its JSON.
_FITTING_BYTES = MAX_BYTES


class _Started(Struct, frozen=True, tag="attempt_began"):
    schema: str
    task: str
    phase: str
    number: int
    iteration: int
    executor: str
    model: str


class _TruncatedToolOutput(Struct, frozen=True, tag="tool_returned"):
    id: str
    text: str
    failed: bool
    truncated: bool = True


class _TruncatedText(Struct, frozen=True, tag="text_received"):
    text: str
    truncated: bool = True


class _InputAsText(Struct, frozen=True, omit_defaults=True):
    text: str
    truncated: bool = False


class _Ended(Struct, frozen=True, tag="attempt_ended"):
    status: AttemptStatus
    code: Code | None
    message: str
    seconds: float
    usage: Usage
    cost_usd: float | None


_encode = msgspec.json.Encoder().encode


class AttemptLog:
    """Writes the log of one attempt while it runs: whole lines, one for each entry."""

    def __init__(self, path: Path, attempt: Attempt, now: Now) -> None:
        self._file = Transcript(str(path))
        self._now = now
        self._started_at = now()
        self._usage = Usage()
        started = _Started(
            schema=SCHEMA,
            task=attempt.task,
            phase=attempt.phase,
            number=attempt.number,
            iteration=attempt.iteration,
            executor=attempt.executor,
            model=attempt.model,
        )
        self._write(started)

    def write_events(self, recorded: RecordedEvents) -> None:
        """Add events of the agent in one write; skipped lines are only in the raw transcript."""
        at = b'{"at":%.3f,' % self._now()
        entries = [self._encode(event, data) for event, data in recorded.events]
        if lines := [at + entry[1:] for entry in entries if entry]:
            self._file.write_lines(b"\n".join((*lines, b"")), recorded.is_unchanged)

    def _encode(self, event: AgentEvent, data: bytes) -> bytes:
        """Return the entry of an event; empty if it has none."""
        if isinstance(event, UsageReported):
            self._usage += event.usage
            return data
        if isinstance(event, ToolUsed):
            tool_input = bytes(event.input)
            is_short = _is_short_object(tool_input)
            return data if is_short else to_json(replace(event, input=_as_text(tool_input)))
        is_empty = isinstance(event, TextReceived | ThinkingReceived) and not event.text
        if is_empty or isinstance(event, LineSkipped):
            return b""
        return data if len(data) <= _FITTING_BYTES else _encode_long(event, data)

    def write_end(self, result: CallResult, cost_usd: float | None) -> None:
        """Add the end of an attempt that returned a result."""
        status: AttemptStatus = "succeeded" if result.ok else "failed"
        seconds = round(result.duration_seconds, 3)
        self._write(_Ended(status, result.code, result.message, seconds, result.usage, cost_usd))

    def write_interruption(self, code: Code, message: str) -> None:
        """Add the end of an attempt without a result, with the usage that was reported until then."""
        status: AttemptStatus = "interrupted" if code is Code.INTERRUPTED else "failed"
        seconds = round(max(0.0, self._now() - self._started_at), 3)
        self._write(_Ended(status, code, message, seconds, self._usage, None))

    def close(self) -> None:
        self._file.close()

    def _write(self, entry: Struct) -> None:
        self._file.write(b'{"at":%.3f,%b\n' % (self._now(), to_json(entry)[1:]))


def _encode_long(event: AgentEvent, data: bytes) -> bytes:
    """Return the entry of an event whose text may have to be cut."""
    match event:
        case ToolReturned(id=use, text=text, failed=failed):
            kept = _truncate(text, MAX_BYTES)
            return data if kept == text else to_json(_TruncatedToolOutput(use, kept, failed))
        case TextReceived(text=text):
            kept = _truncate(text, MAX_TEXT_BYTES)
            return data if kept == text else to_json(_TruncatedText(kept))
        case ThinkingReceived(text=text):
            return to_json(ThinkingReceived(_truncate(text, MAX_BYTES)))
        case _:
            return data


def _is_short_object(tool_input: bytes) -> bool:
    return tool_input.startswith(b"{") and len(tool_input) <= MAX_BYTES and b"\n" not in tool_input


def _as_text(tool_input: bytes) -> Raw:
    """Return an input that is not an object, or too long, as an object with its beginning as text."""
    text = tool_input[:MAX_BYTES].decode("utf-8", "ignore")
    return Raw(_encode(_InputAsText(text, truncated=len(tool_input) > MAX_BYTES)))


def _truncate(text: str, max_bytes: int) -> str:
    """Return the beginning and the end of a long text: the end of a command's output often matters most."""
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    first, last = data[: max_bytes // 2], data[-max_bytes // 2 :]
    gap = f"\n[{len(data) - max_bytes} bytes are left out here]\n"
    return first.decode("utf-8", "ignore") + gap + last.decode("utf-8", "ignore")
