"""Turns of the fake model: what it returns for one request."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from ostler.model.usage import Usage
from ostler.testing.llm.limits import Limits

Stop = Literal["", "end_turn", "max_tokens", "refusal", "tool_use"]
Break = Literal["", "error_event", "reset", "end", "truncated", "endless", "pings"]


class ToolCall(Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a tool of the agent: Bash, write_file, shell, ..."""

    name: str
    input: dict[str, Any] = {}


class Failure(Struct, frozen=True, forbid_unknown_fields=True):
    """An error of the provider: an HTTP status with a body in the form of the API."""

    status: int
    message: str = "scripted failure"
    kind: str = ""  # the provider's name of the error; empty: the usual one of the status
    retry_after: str | None = None  # the header, verbatim
    headers: dict[str, str] = {}
    html: str = ""  # sent instead of the usual body, as by a proxy
    limits: Limits | None = None  # reported in the headers and in the error
    until_reset: bool = False  # with limits: returned until the deciding window resets; then the next turn


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """Text, tool calls, both or neither; streamed when the client requests it."""

    say: str = ""
    tools: tuple[ToolCall, ...] = ()
    blocks: tuple[dict[str, Any], ...] = ()  # sent unchanged before the text, for unknown kinds
    stop: Stop = ""  # empty: tool_use when a tool is called, else end_turn
    usage: Usage = Usage(10, 5)
    delay_seconds: float = 0.0  # before the first byte
    breaks: Break = ""  # how the connection breaks in the middle
    error: Failure | None = None  # error_event: the error; None: overloaded
    headers: dict[str, str] = {}
    limits: Limits | None = None  # reported in the headers
    every_seconds: float = 0.1  # endless, pings: seconds between two chunks
    lasts_seconds: float = 60.0  # endless, pings: seconds until the connection ends

    @property
    def reason(self) -> Stop:
        return self.stop or ("tool_use" if self.tools else "end_turn")


class Silence(Struct, frozen=True, forbid_unknown_fields=True):
    """The connection is accepted and closed after this time without an answer."""

    silence_seconds: float


class Flood(Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON body of this size, generated while it is sent; compressed it is a decompression bomb."""

    flood_bytes: int
    compressed: bool = False


Turn = Answer | Failure | Silence | Flood


def say(text: str, **more: Any) -> Answer:
    """Return a turn with this text."""
    return Answer(say=text, **more)


def call(tool: str, **arguments: Any) -> Answer:
    """Return a turn with one tool call."""
    return Answer(tools=(ToolCall(tool, arguments),))


def fail(status: int, message: str = "scripted failure", **more: Any) -> Failure:
    """Return a failure with this status."""
    return Failure(status, message, **more)
