"""The story of one attempt as programs read it: one JSON object per line, the same for every agent."""

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
    LineUnread,
    TextSaid,
    ToolReturned,
    ToolUsed,
    UsageSeen,
)
from ostler.model.usage import Usage
from ostler.process.transcript import Transcript

SCHEMA = "ostler.story/1"
MOST_BYTES = 64 * 1024  # of what a tool is asked, and of what it returns
MOST_SAID_BYTES = 1024 * 1024  # of one message
_SURELY_FITS = MOST_BYTES // 4  # so many characters, whichever they are


class _Began(Struct, frozen=True, tag="attempt_began"):
    schema: str
    task: str
    phase: str
    number: int
    iteration: int
    executor: str
    model: str


class _ReturnedInPart(Struct, frozen=True, tag="tool_returned"):
    id: str
    text: str
    failed: bool
    truncated: bool = True


class _SaidInPart(Struct, frozen=True, tag="text_said"):
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


class Story:
    """Writes one attempt down as it happens; a line is there as a whole or not at all."""

    def __init__(self, path: Path, attempt: Attempt, now: Now) -> None:
        self._file = Transcript(str(path))
        self._now = now
        self._began = now()
        self._used = Usage()
        began = _Began(
            schema=SCHEMA,
            task=attempt.task,
            phase=attempt.phase,
            number=attempt.number,
            iteration=attempt.iteration,
            executor=attempt.executor,
            model=attempt.model,
        )
        self._write(began)

    def hear(self, event: AgentEvent) -> None:
        """Add what the agent says or does; a line that nobody could read is in the raw transcript alone."""
        match event:
            case LineUnread() | TextSaid(text=""):
                return
            case UsageSeen(usage=usage):
                self._used += usage
                self._write(event)
            case ToolUsed(input=given) if not _fits(bytes(given)):
                self._write(replace(event, input=_as_text(bytes(given))))
            case ToolReturned(id=use, text=text, failed=failed) if len(text) > _SURELY_FITS:
                kept = _bounded(text, MOST_BYTES)
                self._write(event if kept == text else _ReturnedInPart(use, kept, failed))
            case TextSaid(text=text) if len(text) > _SURELY_FITS:
                kept = _bounded(text, MOST_SAID_BYTES)
                self._write(event if kept == text else _SaidInPart(kept))
            case _:
                self._write(event)

    def end(self, result: CallResult, cost_usd: float | None) -> None:
        """How it ended, and what it cost."""
        status: AttemptStatus = "succeeded" if result.ok else "failed"
        seconds = round(result.duration_seconds, 3)
        self._write(_Ended(status, result.code, result.message, seconds, result.usage, cost_usd))

    def break_off(self, code: Code, message: str) -> None:
        """It ended before the agent did; what was used until then is what was heard of it."""
        status: AttemptStatus = "interrupted" if code is Code.INTERRUPTED else "failed"
        seconds = round(max(0.0, self._now() - self._began), 3)
        self._write(_Ended(status, code, message, seconds, self._used, None))

    def close(self) -> None:
        self._file.close()

    def _write(self, entry: Struct) -> None:
        self._file.write(b'{"at":%.3f,%b\n' % (self._now(), _json(entry)[1:]))


def _json(entry: Struct) -> bytes:
    try:
        return _encode(entry)
    except UnicodeEncodeError:  # half a surrogate pair
        texts = {name: text for name, text in asdict(entry).items() if isinstance(text, str)}
        clean = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
        return _encode(replace(entry, **clean))


def _fits(given: bytes) -> bool:
    return given.startswith(b"{") and len(given) <= MOST_BYTES and b"\n" not in given


def _as_text(given: bytes) -> Raw:
    """What is no object, or too long for one line, as far as it goes."""
    text = given[:MOST_BYTES].decode("utf-8", "ignore")
    return Raw(_encode(_InputAsText(text, truncated=len(given) > MOST_BYTES)))


def _bounded(text: str, most: int) -> str:
    """The beginning and the end of a long text: what a command says last is often what matters."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    first, last = data[: most // 2], data[-most // 2 :]
    gap = f"\n[{len(data) - most} bytes are left out here]\n"
    return first.decode("utf-8", "ignore") + gap + last.decode("utf-8", "ignore")
