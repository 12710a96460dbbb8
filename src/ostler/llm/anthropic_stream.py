"""An answer of the Messages API, put together from its events."""

from __future__ import annotations

from msgspec import Raw, Struct

from ostler.llm.client import StopReason, ToolUse
from ostler.llm.exchange import read_part
from ostler.llm.failure import failure_of, read_rejection
from ostler.llm.tool_parts import ToolParts
from ostler.model.usage import Usage

_EMPTY = Raw(b"{}")
_STOPS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
}


class _Event(Struct, frozen=True):
    type: str = ""
    index: int = 0
    message: Raw = _EMPTY
    content_block: Raw = _EMPTY
    delta: Raw = _EMPTY
    usage: Raw = _EMPTY


class _Usage(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(Struct, frozen=True):
    model: str = ""
    usage: _Usage = _Usage()


class _Block(Struct, frozen=True):
    """A block at its beginning, or what is added to it."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    partial_json: str = ""


class _End(Struct, frozen=True):
    stop_reason: str | None = None


class MessagesAnswer:
    """Hears the events of one answer; text blocks are joined by a blank line, tools are listed."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._blocks: dict[int, list[str]] = {}
        self._tools = ToolParts()
        self._reason = ""
        self.usage = Usage()
        self.model = ""
        self.stop: StopReason | None = None

    @property
    def text(self) -> str:
        blocks = ("".join(parts) for parts in self._blocks.values())
        return "\n\n".join(block for block in blocks if block)

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        return self._tools.uses

    @property
    def refused(self) -> bool:
        return self._reason == "refusal"

    def take(self, data: bytes) -> bool:
        """Read one event; pings and kinds that nobody knows yet say nothing."""
        event = read_part(_Event, data)
        match event.type:
            case "message_start":
                self._begin(read_part(_Message, event.message))
            case "content_block_start":
                self._add(event.index, read_part(_Block, event.content_block))
            case "content_block_delta":
                self._add(event.index, read_part(_Block, event.delta))
            case "message_delta":
                self._reason = read_part(_End, event.delta).stop_reason or self._reason
                self._count(read_part(_Usage, event.usage))
            case "message_stop":
                self.stop = _STOPS.get(self._reason, "end_turn")
            case "error":
                raise failure_of(read_rejection(200, data), self._host)
            case _:
                return event.type == "content_block_stop"
        return True

    def _begin(self, message: _Message) -> None:
        self.model = message.model
        self._count(message.usage)

    def _add(self, index: int, block: _Block) -> None:
        match block.type:
            case "text" | "text_delta":
                self._blocks.setdefault(index, []).append(block.text)
            case "tool_use":
                self._tools.begin(index, block.id, block.name)
            case "input_json_delta":
                self._tools.add(index, block.partial_json)
            case _:
                pass  # a kind that is left out

    def _count(self, used: _Usage) -> None:
        """Each count replaces the one before: they are running totals."""
        old = self.usage
        self.usage = Usage(
            old.input_tokens if used.input_tokens is None else used.input_tokens,
            old.output_tokens if used.output_tokens is None else used.output_tokens,
            used.cache_read_input_tokens or old.cache_read_tokens,
            used.cache_creation_input_tokens or old.cache_write_tokens,
        )
