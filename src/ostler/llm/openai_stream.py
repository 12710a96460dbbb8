"""An answer of a Chat Completions API, put together from its chunks."""

from __future__ import annotations

from msgspec import Raw, Struct

from ostler.llm.client import StopReason, ToolUse
from ostler.llm.exchange import read_part
from ostler.llm.failure import failure_of, read_rejection
from ostler.llm.tool_parts import ToolParts
from ostler.model.usage import Usage

_DONE = b"[DONE]"
_NOTHING = Raw(b"null")


class _Function(Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(Struct, frozen=True):
    """A use of a tool at its beginning, or what is added to it."""

    index: int | None = None  # some servers leave it out, and send each use whole
    id: str | None = None
    function: _Function | None = None


class _Delta(Struct, frozen=True):
    content: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(Struct, frozen=True):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Cached(Struct, frozen=True):
    cached_tokens: int | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Chunk(Struct, frozen=True):
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Raw = _NOTHING


class ChatAnswer:
    """Hears the chunks of one answer; it has ended when a reason for that was given."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._parts: list[str] = []
        self._tools = ToolParts()
        self.usage = Usage()
        self.model = ""
        self.refused = False
        self.stop: StopReason | None = None

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        return self._tools.uses

    def take(self, data: bytes) -> bool:
        """Read one chunk; every one is part of the answer."""
        if data == _DONE:
            return True
        chunk = read_part(_Chunk, data)
        if bytes(chunk.error) != bytes(_NOTHING):
            raise failure_of(read_rejection(200, data), self._host)
        self.model = chunk.model or self.model
        if chunk.usage is not None:
            self.usage = _count(chunk.usage)
        for choice in chunk.choices or ():
            self._hear(choice)
        return True

    def _hear(self, choice: _Choice) -> None:
        if choice.index == 0 and choice.delta is not None:
            self._parts.append(choice.delta.content or "")
            for call in choice.delta.tool_calls or ():
                self._add(call)
        if choice.finish_reason is not None:
            self.refused = choice.finish_reason == "content_filter"
            self.stop = "max_tokens" if choice.finish_reason == "length" else "end_turn"

    def _add(self, call: _ToolCall) -> None:
        index = len(self._tools) if call.index is None else call.index
        function = call.function or _Function()
        self._tools.begin(index, call.id or "", function.name or "")
        self._tools.add(index, function.arguments or "")


def _count(used: _Usage) -> Usage:
    """This API counts cached tokens among those of the prompt; we count each token once."""
    cached = (used.prompt_tokens_details and used.prompt_tokens_details.cached_tokens) or 0
    return Usage((used.prompt_tokens or 0) - cached, used.completion_tokens or 0, cached)
