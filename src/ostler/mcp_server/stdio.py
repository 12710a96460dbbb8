"""Serving one client on stdin and stdout, until it hangs up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from mcp.server.stdio import stdio_server

from ostler.mcp_server.server import make_server
from ostler.project.insider import Insider


def serve(start: Path, environ: Mapping[str, str], insider: Insider | None) -> None:
    """Answer what comes on stdin; while it serves, whatever else is printed goes to stderr."""
    asyncio.run(_serve(start, environ, insider))


async def _serve(start: Path, environ: Mapping[str, str], insider: Insider | None) -> None:
    server = make_server(start, environ, insider)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
