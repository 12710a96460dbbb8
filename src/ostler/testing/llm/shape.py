"""Answers that fit the JSON schema of a request."""

from __future__ import annotations

import json
from typing import Any, cast

from ostler.testing.llm.request import Request
from ostler.testing.llm.turns import Answer, call, say
from ostler.testing.wires.instance import instance_of

_PLACES = (  # in the body of a request: Anthropic, Responses, Chat Completions
    ("output_config", "format", "schema"),
    ("text", "format", "schema"),
    ("response_format", "json_schema", "schema"),
)
_TOOL = "StructuredOutput"  # Claude Code's own tool for structured answers


def fit(request: Request, **values: Any) -> Answer | None:
    """Return an answer that fits the schema, with these values; None for a request without a schema."""
    for tool in request.tool_entries:
        if tool.get("name") == _TOOL:
            return call(_TOOL, **(instance_of(tool["input_schema"]) | values))
    for schema in filter(None, (_at(request.body, place) for place in _PLACES)):
        return say(json.dumps(instance_of(schema) | values))
    return None


def _at(body: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    for name in place:
        found = body.get(name)
        body = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    return body
