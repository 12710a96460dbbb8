"""A client of `ostler mcp`, as the official package makes it, against the real program in a test project."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent

from world import World

T = TypeVar("T")


def talk(
    world: World, conversation: Callable[[Client], Awaitable[T]], mode: str = "auto", **environ: str
) -> T:
    """Start the server in the project, run the conversation, disconnect; no other output is allowed."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "ostler", "mcp"], env=world.environ | environ, cwd=world.root
    )
    aside = world.root.parent / "aside.txt"

    async def meet() -> T:
        with aside.open("w") as errors:
            async with Client(stdio_client(server, errors), mode=mode, read_timeout_seconds=60) as client:
                return await conversation(client)

    printed = asyncio.run(meet())
    assert aside.read_text() == ""
    return printed


def text_of(result: CallToolResult) -> str:
    """Return the sentence that a model reads first."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


async def use(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the result of a tool; the package has checked it against the tool's output schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content


def mcp_config() -> str:
    """Return the server as JSON, as in a client's configuration."""
    environ = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    server = {"command": sys.executable, "args": ["-m", "ostler", "mcp"], "env": environ}
    return json.dumps({"mcpServers": {"ostler": server}})
