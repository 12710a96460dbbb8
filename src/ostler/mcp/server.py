"""The MCP server of a project on stdin and stdout; inside a task it offers only `report`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import mcp_types as mcp
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from ostler import __version__
from ostler.config.find import find_root
from ostler.errors import OstlerError
from ostler.files.disk import to_machine_error
from ostler.mcp import protocol
from ostler.mcp.resources import TEMPLATES, list_resources, read_resource
from ostler.mcp.tools import TOOLS, list_inside_tools, read_arguments
from ostler.project.actions import ACTIONS
from ostler.project.agents.inside_sandbox import find_inside_sandbox
from ostler.project.project import Project
from ostler.project.running.current_attempt import CurrentAttempt

_Context = ServerRequestContext[Any]
_Page = mcp.PaginatedRequestParams | None
_T = TypeVar("_T")

OUTSIDE_A_TASK = (
    "Ostler runs AI agents on tasks, unattended. Create tasks with submit, read them with list and show, "
    f"and pass on the decisions of the person you work for: {', '.join(ACTIONS)}. No tool starts an agent: "
    "only a run that the person starts does, and the results mention when no run is active."
)
INSIDE_A_TASK = (
    "You are working on a task of Ostler. Report its status with report: complete, blocked, paused or "
    "needs_review."
)


def serve(start: Path, environ: Mapping[str, str], attempt: CurrentAttempt | None) -> None:
    """Serve one client on stdin and stdout until it disconnects; other output goes to stderr."""
    asyncio.run(_serve(start, environ, attempt))


async def _serve(start: Path, environ: Mapping[str, str], attempt: CurrentAttempt | None) -> None:
    server = make_server(start, environ, attempt)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def make_server(start: Path, environ: Mapping[str, str], attempt: CurrentAttempt | None) -> Server[Any]:
    """Return a server with all tools and resources; inside a task only with `report`."""
    handlers = McpHandlers(start, environ, attempt)
    if attempt:
        return Server(
            "ostler",
            version=__version__,
            instructions=INSIDE_A_TASK,
            on_list_tools=handlers.list_tools,
            on_call_tool=handlers.call_tool,
        )
    return Server(
        "ostler",
        version=__version__,
        instructions=OUTSIDE_A_TASK,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


class McpHandlers:
    """The handlers of the requests; each one opens the project anew."""

    def __init__(self, start: Path, environ: Mapping[str, str], attempt: CurrentAttempt | None) -> None:
        self._start, self._environ = start, environ
        self._inside = find_inside_sandbox(environ, find_root(start, environ)) if attempt else None
        tools = list_inside_tools(attempt, self._inside is not None) if attempt else TOOLS
        self._tools = {tool.name: tool for tool in tools}
        self._lock = asyncio.Lock()

    async def list_tools(self, _context: _Context, _page: _Page) -> mcp.ListToolsResult:
        return mcp.ListToolsResult(tools=[protocol.to_tool(tool) for tool in self._tools.values()])

    async def call_tool(
        self, _context: _Context, params: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        tool = self._tools.get(params.name)
        if tool is None:
            names = ", ".join(self._tools)
            raise MCPError(mcp.INVALID_PARAMS, f"unknown tool {params.name!r:.80}; use one of {names}")
        try:
            arguments = read_arguments(tool, params.arguments or {})
            if self._inside is not None and tool.call_in_sandbox is not None:
                result = tool.call_in_sandbox(self._inside, arguments)
            else:
                result = await self._with_project(lambda project: tool.call(project, arguments))
        except OstlerError as error:
            return protocol.to_error_result(error)
        return protocol.to_call_result(result)

    async def list_resources(self, _context: _Context, _page: _Page) -> mcp.ListResourcesResult:
        try:
            resources = await self._with_project(list_resources)
        except OstlerError as error:
            raise MCPError(mcp.INTERNAL_ERROR, protocol.error_text(error)) from None
        return mcp.ListResourcesResult(resources=[protocol.to_resource(resource) for resource in resources])

    async def list_templates(self, _context: _Context, _page: _Page) -> mcp.ListResourceTemplatesResult:
        return mcp.ListResourceTemplatesResult(
            resource_templates=[protocol.to_template(template) for template in TEMPLATES]
        )

    async def read_resource(
        self, _context: _Context, params: mcp.ReadResourceRequestParams
    ) -> mcp.ReadResourceResult | mcp.InputRequiredResult:
        try:
            content = await self._with_project(lambda project: read_resource(project, params.uri))
        except OstlerError as error:
            raise MCPError(mcp.INVALID_PARAMS, protocol.error_text(error), {"uri": params.uri}) from None
        return mcp.ReadResourceResult(contents=[protocol.to_contents(params.uri, content)])

    async def _with_project(self, function: Callable[[Project], _T]) -> _T:
        """Call a function with the open project in a thread, one at a time."""
        async with self._lock:
            return await asyncio.to_thread(self._open_project, function)

    def _open_project(self, function: Callable[[Project], _T]) -> _T:
        try:
            with Project.open(self._start, self._environ) as project:
                return function(project)
        except (OSError, MemoryError) as error:
            raise to_machine_error(error) or error from None
