"""Our values in the words of the protocol: tools, resources, answers and refusals."""

from __future__ import annotations

import mcp_types as mcp
import msgspec

from ostler.errors import OstlerError
from ostler.mcp_server.answer import Answer
from ostler.mcp_server.offer import Offer
from ostler.mcp_server.resources import Content, Place
from ostler.mcp_server.schema import schema_of


def sentence(error: OstlerError) -> str:
    """What is wrong, and the next step."""
    return f"{error.message}. Next: {error.hint}" if error.hint else error.message


def answered(answer: Answer) -> mcp.CallToolResult:
    """The sentence, and the document twice: older clients read only text."""
    whole = msgspec.json.encode(answer.document).decode()
    texts = [mcp.TextContent(text=text) for text in (answer.text, whole)]
    return mcp.CallToolResult(content=[*texts], structured_content=answer.document)


def refused(error: OstlerError) -> mcp.CallToolResult:
    document = {
        "schema": "ostler.error/1",
        "code": error.code.value,
        "message": error.message,
        "hint": error.hint,
    }
    told = mcp.TextContent(text=f"{error.code}: {sentence(error)}")
    return mcp.CallToolResult(content=[told], structured_content=document, is_error=True)


def tool(offer: Offer) -> mcp.Tool:
    hints = mcp.ToolAnnotations(
        read_only_hint=offer.effect == "reads",
        destructive_hint=offer.effect == "ends",
        open_world_hint=False,
    )
    return mcp.Tool(
        name=offer.name,
        title=offer.title,
        description=offer.about,
        input_schema=schema_of(offer.takes),
        output_schema=schema_of(offer.gives),
        annotations=hints,
        _meta={"anthropic/alwaysLoad": True} if offer.at_hand else None,
    )


def resource(place: Place) -> mcp.Resource:
    return mcp.Resource(uri=place.uri, name=place.name, description=place.about, mime_type=place.kind)


def template(place: Place) -> mcp.ResourceTemplate:
    return mcp.ResourceTemplate(
        uri_template=place.uri, name=place.name, description=place.about, mime_type=place.kind
    )


def contents(uri: str, content: Content) -> mcp.TextResourceContents:
    return mcp.TextResourceContents(uri=uri, mime_type=content.kind, text=content.text)
