"""A value that fits a JSON Schema, as in the answer of a model with structured output.

Only the standard library: the fake agents start without anything else.
"""

from __future__ import annotations

from typing import Any

_EMPTY: dict[str, Any] = {"boolean": False, "integer": 0, "number": 0, "null": None}


def instance_of(schema: dict[str, Any], text: str = "") -> Any:
    """Return the first of each choice, empty lists, and this text for each string."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties: dict[str, dict[str, Any]] = schema.get("properties", {})
            return {name: instance_of(inner, text) for name, inner in properties.items()}
        case "array":
            return []
        case "string":
            return text
        case kind:
            return _EMPTY.get(str(kind))
