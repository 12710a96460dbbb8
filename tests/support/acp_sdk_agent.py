"""An agent made with the protocol's own Python package: an independent implementation of the other side."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import acp
from acp.helpers import start_edit_tool_call, update_agent_message_text, update_agent_thought_text
from acp.schema import (
    AgentCapabilities,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
    Usage,
)


class SdkAgent:
    """Writes one file, if permitted, and reports whether it did."""

    def on_connect(self, conn: Any) -> None:
        self._client = conn
        self._cwd = ""

    async def initialize(self, protocol_version: int, **more: Any) -> InitializeResponse:
        can = AgentCapabilities(load_session=True)
        return InitializeResponse(protocol_version=protocol_version, agent_capabilities=can)

    async def new_session(self, cwd: str, **more: Any) -> NewSessionResponse:
        self._cwd = cwd
        return NewSessionResponse(session_id=str(uuid.uuid4()))

    async def load_session(self, cwd: str, session_id: str, **more: Any) -> LoadSessionResponse:
        self._cwd = cwd
        await self._client.session_update(session_id, update_agent_message_text("an old answer"))
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **more: Any) -> PromptResponse:
        await self._client.session_update(session_id, update_agent_thought_text("hm"))
        path = Path(self._cwd, "made.txt")
        tool = start_edit_tool_call("call-1", "Write", str(path), "hello")
        await self._client.session_update(session_id, tool)
        allowed = await self._may(session_id, tool)
        if allowed:
            path.write_text(prompt[0].text)
        printed = "I wrote it." if allowed else "I was not allowed to."
        await self._client.session_update(session_id, update_agent_message_text(printed))
        return PromptResponse(
            stop_reason="end_turn", usage=Usage(total_tokens=15, input_tokens=10, output_tokens=5)
        )

    async def cancel(self, session_id: str, **more: Any) -> None:
        del session_id, more

    async def _may(self, session_id: str, tool: Any) -> bool:
        kinds = ("allow_always", "allow_once", "reject_once")
        options = [PermissionOption(option_id=kind, name=kind, kind=kind) for kind in kinds]
        asked = ToolCallUpdate(tool_call_id=tool.tool_call_id)
        answer = await self._client.request_permission(
            session_id=session_id, tool_call=asked, options=options
        )
        return getattr(answer.outcome, "option_id", "") == "allow_once"


if __name__ == "__main__":
    asyncio.run(acp.run_agent(SdkAgent()))  # type: ignore[arg-type]
