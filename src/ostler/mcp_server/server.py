"""The MCP server of a project: who asks from outside of a task gets all, an agent inside one its report."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import mcp_types as mcp
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ostler import __version__
from ostler.errors import OstlerError
from ostler.files.disk import machine_error
from ostler.mcp_server import wire
from ostler.mcp_server.inside import report_tool
from ostler.mcp_server.offer import read_arguments
from ostler.mcp_server.resources import TEMPLATES, places, read_place
from ostler.mcp_server.tools import TOOLS
from ostler.project.insider import Insider
from ostler.project.project import Project

_Context = ServerRequestContext[Any]
_Page = mcp.PaginatedRequestParams | None
_T = TypeVar("_T")

OUTSIDE = (
    "Ostler runs AI agents on tasks, unattended. Write tasks down with submit, look at them with list and "
    "show, and pass on what the person decides with approve, reject, resume, pause, retry and cancel. "
    "No tool starts an agent: a run that the person starts does, and the answers say when none is at work."
)
INSIDE = (
    "You work on a task of Ostler. Say with report how it stands: complete, blocked, paused or needs_review."
)


class Desk:
    """Answers a client from a project that is opened anew for every question."""

    def __init__(self, start: Path, environ: Mapping[str, str], insider: Insider | None) -> None:
        self._start, self._environ = start, environ
        self._offers = {offer.name: offer for offer in ((report_tool(insider),) if insider else TOOLS)}
        self._turn = asyncio.Lock()

    async def list_tools(self, _context: _Context, _page: _Page) -> mcp.ListToolsResult:
        return mcp.ListToolsResult(tools=[wire.tool(offer) for offer in self._offers.values()])

    async def call_tool(
        self, _context: _Context, asked: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        offer = self._offers.get(asked.name)
        if offer is None:
            known = ", ".join(self._offers)
            raise MCPError(mcp.INVALID_PARAMS, f"no tool {asked.name!r:.80}; there are {known}")
        try:
            arguments = read_arguments(offer, asked.arguments or {})
            return wire.answered(await self._ask(lambda project: offer.act(project, arguments)))
        except OstlerError as error:
            return wire.refused(error)

    async def list_resources(self, _context: _Context, _page: _Page) -> mcp.ListResourcesResult:
        try:
            found = await self._ask(places)
        except OstlerError as error:
            raise MCPError(mcp.INTERNAL_ERROR, wire.sentence(error)) from None
        return mcp.ListResourcesResult(resources=[wire.resource(place) for place in found])

    async def list_templates(self, _context: _Context, _page: _Page) -> mcp.ListResourceTemplatesResult:
        return mcp.ListResourceTemplatesResult(
            resource_templates=[wire.template(place) for place in TEMPLATES]
        )

    async def read_resource(
        self, _context: _Context, asked: mcp.ReadResourceRequestParams
    ) -> mcp.ReadResourceResult | mcp.InputRequiredResult:
        try:
            content = await self._ask(lambda project: read_place(project, asked.uri))
        except OstlerError as error:
            raise MCPError(mcp.INVALID_PARAMS, wire.sentence(error), {"uri": asked.uri}) from None
        return mcp.ReadResourceResult(contents=[wire.contents(asked.uri, content)])

    async def _ask(self, question: Callable[[Project], _T]) -> _T:
        """One at a time, in a thread: the connection stays awake meanwhile."""
        async with self._turn:
            return await asyncio.to_thread(self._open_and, question)

    def _open_and(self, question: Callable[[Project], _T]) -> _T:
        try:
            with Project.open(self._start, self._environ) as project:
                return question(project)
        except (OSError, MemoryError) as error:
            raise machine_error(error) or error from None


def make_server(start: Path, environ: Mapping[str, str], insider: Insider | None) -> Server[Any]:
    """All tools and resources outside of a task; inside nothing but report."""
    desk = Desk(start, environ, insider)
    if insider:
        return Server(
            "ostler",
            version=__version__,
            instructions=INSIDE,
            on_list_tools=desk.list_tools,
            on_call_tool=desk.call_tool,
        )
    return Server(
        "ostler",
        version=__version__,
        instructions=OUTSIDE,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_resources=desk.list_resources,
        on_list_resource_templates=desk.list_templates,
        on_read_resource=desk.read_resource,
    )
