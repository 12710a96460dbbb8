"""One request as the server received it, without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

REDACTED = "(redacted)"
_SECRETS = ("authorization", "api-key", "cookie", "token")
_KEY_IN_QUERY = re.compile(r"((?:^|&)(?:key|api_key|access_token)=)[^&]*")
_CONVERSATION = ("messages", "input", "contents")  # each API has one of these
_TEXT_KEYS = ("text", "content", "output", "parts", "response", "functionResponse")


class Request(Struct, frozen=True):
    """A request of a client."""

    number: int  # counted from 1
    method: str
    path: str
    query: str
    headers: dict[str, str]  # names in lower case
    body: dict[str, Any]  # empty when it was not a JSON object
    size: int  # bytes of the body
    id: str  # made by the server; message and tool ids are derived from it

    @property
    def model(self) -> str:
        """The model of the request, from the body or (Gemini) from the path."""
        in_path = re.search(r"/models/([^/:]+)", self.path)
        return str(self.body.get("model") or (in_path[1] if in_path else "fake-model"))

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True or ":streamGenerateContent" in self.path

    @property
    def history(self) -> list[str]:
        """Every text of the conversation, including tool results, oldest first."""
        return [text for name in _CONVERSATION for text in _texts(self.body.get(name))]

    @property
    def tools(self) -> list[str]:
        """The names of the declared tools."""
        return [tool.get("name", "") for tool in self.tool_entries]

    @property
    def tool_entries(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.body.get("tools") or []
        return [inner for tool in listed for inner in _declarations(tool)]

    def holds(self, text: str) -> bool:
        """Return whether the conversation has this text."""
        return any(text in earlier for earlier in self.history)


def read_request(
    number: int, method: str, target: str, headers: Mapping[str, str], data: bytes, id: str
) -> Request:
    """Return a request without its secrets; of a body that is not a JSON object only the size is kept."""
    path, _, query = target.partition("?")
    clean = {name.lower(): _without_secret(name.lower(), value) for name, value in headers.items()}
    query = _KEY_IN_QUERY.sub(rf"\1{REDACTED}", query)
    return Request(number, method, path, query, clean, _object(data), len(data), id)


def _without_secret(name: str, value: str) -> str:
    return REDACTED if any(secret in name for secret in _SECRETS) else value


def _object(data: bytes) -> dict[str, Any]:
    try:
        loaded: object = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], loaded) if isinstance(loaded, dict) else {}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast(list[object], value):
            yield from _texts(item)
    elif isinstance(value, dict):
        members = cast(dict[str, object], value)
        for name in _TEXT_KEYS:
            yield from _texts(members.get(name))


def _declarations(tool: dict[str, Any]) -> list[dict[str, Any]]:
    """Anthropic and Responses have flat entries, Chat wraps each one, Gemini groups them."""
    if "function_declarations" in tool or "functionDeclarations" in tool:
        return tool.get("function_declarations") or tool["functionDeclarations"]
    return [tool["function"]] if "function" in tool else [tool]
