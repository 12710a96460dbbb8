"""The messages of the Agent Client Protocol, version 1, that Ostler uses: JSON-RPC, one message per line.

The package agent-client-protocol is not used: it takes half a second to import, and rejects some messages of
real agents. The tests check every message that Ostler sends against the schema of that package.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw, Struct, field
from msgspec.json import Decoder, encode

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000
METHOD_NOT_FOUND = -32601


class ErrorData(Struct, frozen=True):
    """The details of an error, as different agents name them."""

    details: str = ""
    message: str = ""
    error: str = ""


class Error(Struct, frozen=True):
    code: int = 0
    message: str = ""
    data: Raw = Raw()


class Message(Struct, frozen=True):
    """A request has a method and an id, a notification has no id, a response has no method."""

    id: Raw = Raw()
    method: str = ""
    params: Raw = Raw()
    result: Raw = Raw()
    error: Error | None = None


class _SessionCapabilities(Struct, frozen=True):
    resume: dict[str, object] | None = None


class _AgentCapabilities(Struct, frozen=True, rename="camel"):
    load_session: bool = False
    session_capabilities: _SessionCapabilities = _SessionCapabilities()


class _AgentInfo(Struct, frozen=True):
    version: str = ""


class InitializeResult(Struct, frozen=True, rename="camel"):
    """The result of initialize."""

    protocol_version: int = 0
    agent_capabilities: _AgentCapabilities = _AgentCapabilities()
    agent_info: _AgentInfo | None = None

    @property
    def version(self) -> str:
        """The version of the agent."""
        return self.agent_info.version if self.agent_info else ""


class _Mode(Struct, frozen=True):
    id: str = ""


class _Modes(Struct, frozen=True, rename="camel"):
    available_modes: tuple[_Mode, ...] = ()


class ConfigOption(Struct, frozen=True, rename="camel"):
    """A setting of the session that the client may change."""

    id: str = ""
    category: str | None = None
    current_value: str | bool | None = None


class SessionResult(Struct, frozen=True, rename="camel"):
    """The result of session/new, session/load and session/resume."""

    session_id: str = ""
    modes: _Modes | None = None
    config_options: tuple[ConfigOption, ...] | None = None

    @property
    def mode_ids(self) -> tuple[str, ...]:
        """The modes that the client may set."""
        return tuple(mode.id for mode in self.modes.available_modes) if self.modes else ()

    @property
    def model(self) -> ConfigOption | None:
        """The setting of the model."""
        return next((o for o in self.config_options or () if "model" in (o.category, o.id)), None)


class _Usage(Struct, frozen=True, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class _Count(Struct, frozen=True):
    """Token counts as gemini reports them; the others use `usage`."""

    input_tokens: int = 0
    output_tokens: int = 0


class _ModelUsage(Struct, frozen=True):
    model: str = ""


class _Quota(Struct, frozen=True):
    token_count: _Count = _Count()
    model_usage: tuple[_ModelUsage, ...] = ()


class _TurnMeta(Struct, frozen=True):
    quota: _Quota = _Quota()


class PromptResult(Struct, frozen=True, rename="camel"):
    """The result of session/prompt."""

    stop_reason: str = ""
    usage: _Usage | None = None
    meta: _TurnMeta | None = field(default=None, name="_meta")

    @property
    def quota(self) -> _Quota:
        """The usage as gemini reports it."""
        return self.meta.quota if self.meta else _Quota()


MESSAGE = Decoder(Message)
ERROR_DATA = Decoder(ErrorData)
INITIALIZE_RESULT = Decoder(InitializeResult)
SESSION_RESULT = Decoder(SessionResult)
PROMPT_RESULT = Decoder(PromptResult)


def encode_request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    """Return a request as a line."""
    return _line({"id": number, "method": method, "params": params})


def encode_notification(method: str, params: Mapping[str, object]) -> bytes:
    """Return a notification as a line."""
    return _line({"method": method, "params": params})


def encode_response(number: Raw, result: Mapping[str, object]) -> bytes:
    """Return a response as a line."""
    return _line({"id": number, "result": result})


def encode_method_not_found(number: Raw, method: str) -> bytes:
    """Return the error response to a request for a method that Ostler does not have."""
    return _line({"id": number, "error": {"code": METHOD_NOT_FOUND, "message": f"no such method: {method}"}})


def _line(members: Mapping[str, object]) -> bytes:
    return encode({"jsonrpc": "2.0", **members}) + b"\n"
