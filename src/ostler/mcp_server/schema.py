"""The JSON schema of what a tool takes or gives."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import Struct


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """An object at the root, as MCP wants it, and the definitions that it refers to."""
    whole = _typed(msgspec.json.schema(kind))
    definitions: dict[str, Any] = whole.pop("$defs")
    root: dict[str, Any] = definitions.pop(kind.__name__)
    return root | {"$defs": definitions} if definitions else root


def _typed(node: Any) -> Any:
    """The same with a type beside every list of words: Gemini wants it, msgspec leaves it out."""
    if isinstance(node, list):
        return [_typed(one) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    known = cast("dict[str, Any]", node)
    typed = {"type": "string"} if isinstance(known.get("enum"), list) else {}
    return typed | {name: _typed(value) for name, value in known.items()}
