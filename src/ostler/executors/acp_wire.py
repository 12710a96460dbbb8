"""The Agent Client Protocol, version 1, as far as we speak it: JSON-RPC, one message per line.

Written by hand, because what we need of it is small, must survive whatever an agent prints, and must not cost
half a second of imports. The tests hold every message against the schema of agent-client-protocol.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw, Struct, field
from msgspec.json import Decoder, encode

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000
METHOD_NOT_FOUND = -32601


class ErrorData(Struct, frozen=True):
    """Where the agents put what really happened."""

    details: str = ""
    message: str = ""
    error: str = ""


class Error(Struct, frozen=True):
    code: int = 0
    message: str = ""
    data: Raw = Raw()


class Message(Struct, frozen=True):
    """A request has a method and an id, a notification no id, an answer no method."""

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


class Agent(Struct, frozen=True, rename="camel"):
    """The answer to initialize."""

    protocol_version: int = 0
    agent_capabilities: _AgentCapabilities = _AgentCapabilities()
    agent_info: _AgentInfo | None = None

    @property
    def version(self) -> str:
        return self.agent_info.version if self.agent_info else ""


class _Mode(Struct, frozen=True):
    id: str = ""


class _Modes(Struct, frozen=True, rename="camel"):
    available_modes: tuple[_Mode, ...] = ()


class Option(Struct, frozen=True, rename="camel"):
    """A setting of the session that we may change."""

    id: str = ""
    category: str | None = None
    current_value: str | bool | None = None


class Session(Struct, frozen=True, rename="camel"):
    """The answer to session/new, session/load and session/resume."""

    session_id: str = ""
    modes: _Modes | None = None
    config_options: tuple[Option, ...] | None = None

    @property
    def mode_ids(self) -> tuple[str, ...]:
        return tuple(mode.id for mode in self.modes.available_modes) if self.modes else ()

    @property
    def model(self) -> Option | None:
        """The setting that chooses the model."""
        return next((o for o in self.config_options or () if "model" in (o.category, o.id)), None)


class _Usage(Struct, frozen=True, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class _Count(Struct, frozen=True):
    """As gemini spells it; the others say the same in `usage`."""

    input_tokens: int = 0
    output_tokens: int = 0


class _Share(Struct, frozen=True):
    model: str = ""


class _Quota(Struct, frozen=True):
    token_count: _Count = _Count()
    model_usage: tuple[_Share, ...] = ()


class _TurnMeta(Struct, frozen=True):
    quota: _Quota = _Quota()


class Turn(Struct, frozen=True, rename="camel"):
    """The answer to session/prompt."""

    stop_reason: str = ""
    usage: _Usage | None = None
    meta: _TurnMeta | None = field(default=None, name="_meta")

    @property
    def quota(self) -> _Quota:
        return self.meta.quota if self.meta else _Quota()


MESSAGE = Decoder(Message)
ERROR_DATA = Decoder(ErrorData)
AGENT = Decoder(Agent)
SESSION = Decoder(Session)
TURN = Decoder(Turn)


def request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    return _line({"id": number, "method": method, "params": params})


def notification(method: str, params: Mapping[str, object]) -> bytes:
    return _line({"method": method, "params": params})


def answer(number: Raw, result: Mapping[str, object]) -> bytes:
    return _line({"id": number, "result": result})


def refusal(number: Raw, method: str) -> bytes:
    """The answer to a request for something that we do not offer."""
    return _line({"id": number, "error": {"code": METHOD_NOT_FOUND, "message": f"no such method: {method}"}})


def _line(members: Mapping[str, object]) -> bytes:
    return encode({"jsonrpc": "2.0", **members}) + b"\n"
