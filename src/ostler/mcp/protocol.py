"""Conversion of tools, resources, results and errors to the types of the protocol."""

from __future__ import annotations

from typing import Any, cast

import mcp_types as mcp
import msgspec
from msgspec import Struct

from ostler.errors import OstlerError
from ostler.mcp.resources import Content, Resource
from ostler.mcp.results import ToolResult
from ostler.mcp.tools import ToolSpec


def to_tool(spec: ToolSpec) -> mcp.Tool:
    hints = mcp.ToolAnnotations(
        read_only_hint=spec.effect == "reads",
        destructive_hint=spec.effect == "ends",
        open_world_hint=False,
    )
    return mcp.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=json_schema(spec.arguments),
        output_schema=json_schema(spec.result),
        annotations=hints,
        _meta={"anthropic/alwaysLoad": True} if spec.always_load else None,
    )


def to_call_result(result: ToolResult) -> mcp.CallToolResult:
    """Return the text, and the document both as text and as structured content."""
    # Older clients read only text.
    document = msgspec.json.encode(result.document).decode()
    texts = [mcp.TextContent(text=text) for text in (result.text, document)]
    return mcp.CallToolResult(content=[*texts], structured_content=result.document)


def to_error_result(error: OstlerError) -> mcp.CallToolResult:
    document = {
        "schema": "ostler.error/1",
        "code": error.code.value,
        "message": error.message,
        "hint": error.hint,
    }
    text = mcp.TextContent(text=f"{error.code}: {error_text(error)}")
    return mcp.CallToolResult(content=[text], structured_content=document, is_error=True)


def error_text(error: OstlerError) -> str:
    """Return the message and the next step."""
    return f"{error.message}. Next: {error.hint}" if error.hint else error.message


def to_resource(resource: Resource) -> mcp.Resource:
    return mcp.Resource(
        uri=resource.uri,
        name=resource.name,
        description=resource.description,
        mime_type=resource.mime_type,
    )


def to_template(template: Resource) -> mcp.ResourceTemplate:
    return mcp.ResourceTemplate(
        uri_template=template.uri,
        name=template.name,
        description=template.description,
        mime_type=template.mime_type,
    )


def to_contents(uri: str, content: Content) -> mcp.TextResourceContents:
    return mcp.TextResourceContents(uri=uri, mime_type=content.mime_type, text=content.text)


def json_schema(struct: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a struct with an object at the root, as MCP requires."""
    schema = _add_types(msgspec.json.schema(struct))
    definitions: dict[str, Any] = schema.pop("$defs")
    root: dict[str, Any] = definitions.pop(struct.__name__)
    return root | {"$defs": definitions} if definitions else root


def _add_types(node: Any) -> Any:
    """Return the schema with a type beside every enum."""
    # Gemini requires the type; msgspec leaves it out.
    if isinstance(node, list):
        return [_add_types(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    added = {"type": "string"} if isinstance(fields.get("enum"), list) else {}
    return added | {name: _add_types(value) for name, value in fields.items()}
