"""What the model does when it is asked: values to script a conversation with."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from ostler.model.usage import Usage

Stop = Literal["", "end_turn", "max_tokens", "refusal", "tool_use"]
Break = Literal["", "error_event", "reset", "end", "truncated", "endless", "pings"]


class ToolCall(Struct, frozen=True, forbid_unknown_fields=True):
    """One use of a tool of the agent's: Bash, write_file, shell, ..."""

    name: str
    input: dict[str, Any] = {}


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """Text, tool calls, both or neither; streamed when the client asks for that."""

    say: str = ""
    tools: tuple[ToolCall, ...] = ()
    blocks: tuple[dict[str, Any], ...] = ()  # sent as they are, before the text: kinds that nobody knows
    stop: Stop = ""  # empty: tool_use when a tool is called, else end_turn
    usage: Usage = Usage(10, 5)
    delay_seconds: float = 0.0  # before the first byte
    breaks: Break = ""  # what happens in the middle of it
    every_seconds: float = 0.1  # endless, pings: between two signs of life
    lasts_seconds: float = 60.0  # endless, pings: then the connection ends

    @property
    def reason(self) -> Stop:
        return self.stop or ("tool_use" if self.tools else "end_turn")


class Failure(Struct, frozen=True, forbid_unknown_fields=True):
    """An error of the provider, as an HTTP status with a body in the client's dialect."""

    status: int
    message: str = "scripted failure"
    kind: str = ""  # the provider's word for it; empty: what usually goes with the status
    retry_after: str | None = None  # the header, word for word
    headers: dict[str, str] = {}
    html: str = ""  # sent instead of the usual body, as a proxy does


class Silence(Struct, frozen=True, forbid_unknown_fields=True):
    """The connection is accepted and nothing comes back; after that time it ends."""

    silence_seconds: float


class Flood(Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON body of that many bytes, never held in memory; compressed it is a bomb."""

    flood_bytes: int
    compressed: bool = False


Turn = Answer | Failure | Silence | Flood


def say(text: str, **more: Any) -> Answer:
    """The model says this and ends its turn."""
    return Answer(say=text, **more)


def call(tool: str, **arguments: Any) -> Answer:
    """The model calls a tool; what it makes of the tool's result is the next turn."""
    return Answer(tools=(ToolCall(tool, arguments),))


def fail(status: int, message: str = "scripted failure", **more: Any) -> Failure:
    """The provider refuses with this status."""
    return Failure(status, message, **more)
