"""What claude prints, as far as we read it. Every field is foreign and so has a default."""

from __future__ import annotations

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ostler.model.usage import Usage


class Line(Struct, frozen=True):
    """The envelope of every line; the body is decoded only when someone needs it."""

    type: str = ""
    subtype: str = ""
    message: Raw = Raw()
    error: str | None = None  # assistant: the kind of API error that this text stands for
    api_error: str | None = None


class Tokens(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def usage(self) -> Usage:
        return Usage(
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            self.cache_creation_input_tokens or 0,
        )


class Block(Struct, frozen=True):
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"{}")


class Message(Struct, frozen=True):
    id: str = ""
    content: list[Block] | str = []
    usage: Tokens | None = None


class Piece(Struct, frozen=True):
    """A part of what a tool returned; an image has no text."""

    type: str = ""
    text: str = ""


class Returned(Struct, frozen=True):
    type: str = ""
    tool_use_id: str = ""
    content: str | list[Piece] | None = None
    is_error: bool | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(piece.text or f"[{piece.type}]" for piece in self.content or ())


class Returns(Struct, frozen=True):
    """The message in the user's name by which claude tells the model what its tools returned."""

    content: list[Returned] | str = []

    @property
    def blocks(self) -> list[Returned]:
        """Its results; a plain text is the user's own."""
        return [] if isinstance(self.content, str) else self.content


class System(Struct, frozen=True):
    """The members of all system lines that we read: init, api_retry, permission_denied, model_fallback."""

    session_id: str = ""
    model: str = ""
    claude_code_version: str = ""
    error: str | None = None
    error_status: int | None = None
    retry_delay_ms: float = 0.0
    tool_name: str = ""
    tool_use_id: str = ""
    message: str = ""
    fallback_model: str = ""


class Denial(Struct, frozen=True):
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: Raw = Raw()


class Result(Struct, frozen=True):
    is_error: bool = False
    result: str | None = None
    errors: list[str] = []
    session_id: str = ""
    terminal_reason: str | None = None
    stop_reason: str | None = None
    api_error_status: int | None = None
    total_cost_usd: float | None = None
    usage: Tokens = Tokens()
    permission_denials: list[Denial] = []
    structured_output: Raw = Raw()

    @property
    def text(self) -> str:
        """The object that a schema asked for, where there is one; `result` may be a copy of it."""
        enforced = bytes(self.structured_output)
        if enforced not in (b"", b"null") and not self.is_error:
            return enforced.decode("utf-8", "replace")
        return self.result or "; ".join(self.errors)

    @property
    def failed(self) -> bool:
        return self.is_error or (not self.result and bool(self.errors))


LINE = Decoder(Line)
MESSAGE = Decoder(Message)
RETURNS = Decoder(Returns)
SYSTEM = Decoder(System)
RESULT = Decoder(Result)
