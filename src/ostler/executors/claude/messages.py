"""The lines that claude prints, as far as Ostler reads them; every field has a default."""

from __future__ import annotations

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ostler.model.usage import Usage


class Line(Struct, frozen=True):
    """The envelope of every line; the message is decoded on use."""

    type: str = ""
    subtype: str = ""
    message: Raw = Raw()
    error: str | None = None  # assistant: the type of the API error that the text reports
    api_error: str | None = None
    rate_limit_info: Raw = Raw()  # rate_limit_event


class Tokens(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def usage(self) -> Usage:
        """Return the counts; a missing one is 0."""
        return Usage(
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            self.cache_creation_input_tokens or 0,
        )


class Block(Struct, frozen=True):
    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"{}")


class Message(Struct, frozen=True):
    id: str = ""
    content: list[Block] | str = []
    usage: Tokens | None = None


class ContentPart(Struct, frozen=True):
    """A part of the result of a tool; an image has no text."""

    type: str = ""
    text: str = ""


class ToolResultBlock(Struct, frozen=True):
    type: str = ""
    tool_use_id: str = ""
    content: str | list[ContentPart] | None = None
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """The parts as one text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(piece.text or f"[{piece.type}]" for piece in self.content or ())


class ToolResults(Struct, frozen=True):
    """The user message in which claude passes the results of tools to the model."""

    content: list[ToolResultBlock] | str = []

    @property
    def blocks(self) -> list[ToolResultBlock]:
        """The results; a plain text is the prompt."""
        return [] if isinstance(self.content, str) else self.content


class System(Struct, frozen=True):
    """The members of the system lines init, api_retry, permission_denied and model_fallback."""

    session_id: str = ""
    model: str = ""
    claude_code_version: str = ""
    # none: the login of a subscription
    api_key_source: str | None = field(default=None, name="apiKeySource")
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
        """The structured output, if there is one, else the final text or the errors."""
        enforced = bytes(self.structured_output)
        if enforced not in (b"", b"null") and not self.is_error:
            return enforced.decode("utf-8", "replace")
        return self.result or "; ".join(self.errors)

    @property
    def failed(self) -> bool:
        """Whether it reports an error."""
        return self.is_error or (not self.result and bool(self.errors))


LINE = Decoder(Line)
MESSAGE = Decoder(Message)
TOOL_RESULTS = Decoder(ToolResults)
SYSTEM = Decoder(System)
RESULT = Decoder(Result)
