"""The log of one attempt: one JSON object per line, in the same format for every agent."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict, replace

from ostler.clock import Now
from ostler.errors import Code
from ostler.model.attempt import Attempt, AttemptStatus
from ostler.model.call import (
    AgentEvent,
    CallResult,
    LineSkipped,
    TextReceived,
    ToolReturned,
    ToolUsed,
    UsageReported,
)
from ostler.model.usage import Usage
from ostler.process.transcript import Transcript

SCHEMA = "ostler.attempt-log/1"
MAX_BYTES = 64 * 1024  # of a tool's input, and of its output
MAX_TEXT_BYTES = 1024 * 1024  # of one message
# A text of so many characters fits, whatever they are.
_FITTING_CHARACTERS = MAX_BYTES // 4


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
    """Writes the log of one attempt while it runs; each entry is written as one line in one write."""

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

    def write_event(self, event: AgentEvent) -> None:
        """Add an event of the agent; skipped lines are only in the raw transcript."""
        match event:
            case LineSkipped() | TextReceived(text=""):
                return
            case UsageReported(usage=usage):
                self._usage += usage
                self._write(event)
            case ToolUsed(input=tool_input) if not _is_short_object(bytes(tool_input)):
                self._write(replace(event, input=_as_text(bytes(tool_input))))
            case ToolReturned(id=use, text=text, failed=failed) if len(text) > _FITTING_CHARACTERS:
                kept = _truncate(text, MAX_BYTES)
                self._write(event if kept == text else _TruncatedToolOutput(use, kept, failed))
            case TextReceived(text=text) if len(text) > _FITTING_CHARACTERS:
                kept = _truncate(text, MAX_TEXT_BYTES)
                self._write(event if kept == text else _TruncatedText(kept))
            case _:
                self._write(event)

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
        self._file.write(b'{"at":%.3f,%b\n' % (self._now(), _to_json(entry)[1:]))


def _to_json(entry: Struct) -> bytes:
    try:
        return _encode(entry)
    except UnicodeEncodeError:
        # Half a surrogate pair.
        texts = {name: text for name, text in asdict(entry).items() if isinstance(text, str)}
        clean = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
        return _encode(replace(entry, **clean))


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
