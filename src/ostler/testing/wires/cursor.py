"""The output of `cursor-agent --output-format stream-json`, as documented."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

VERSION = "2026.11.01-fake"
MODEL = "cursor-fake-1"


def session_of(agent: FakeAgent) -> tuple[str, bool]:
    resumed = agent.option("--resume")
    return resumed or str(uuid.uuid4()), bool(resumed)


def unknown_session(agent: FakeAgent) -> int:
    return agent.fail(f"Error: Chat {agent.session_id} not found")


def taken_session(agent: FakeAgent) -> int:
    raise AssertionError(f"a new chat has the id of an existing one: {agent.session_id}")


def init(agent: FakeAgent) -> None:
    _print(agent, "system", subtype="init", apiKeySource="env", model=agent.model, permissionMode="default")
    _print(agent, "user", message=_message("user", agent.prompt))


def text(agent: FakeAgent, text: str) -> None:
    _print(agent, "assistant", message=_message("assistant", text))


def tool_started(agent: FakeAgent, path: str) -> None:
    call = {"writeToolCall": {"args": {"path": path, "fileText": "..."}}}
    _print(agent, "tool_call", subtype="started", call_id=path, tool_call=call)


def tool_done(agent: FakeAgent, path: str) -> None:
    call = {"writeToolCall": {"args": {"path": path}, "result": {"success": {"path": path}}}}
    _print(agent, "tool_call", subtype="completed", call_id=path, tool_call=call)


def denied(agent: FakeAgent) -> None:
    call: dict[str, Any] = {"args": {"command": "make"}}
    _print(agent, "tool_call", subtype="started", call_id="1", tool_call={"shellToolCall": call})
    refused = {**call, "result": {"rejected": {"reason": "not allowed"}}}
    _print(agent, "tool_call", subtype="completed", call_id="1", tool_call={"shellToolCall": refused})
    text(agent, "I was not allowed to.")
    result(agent, "I was not allowed to.")


def result(agent: FakeAgent, text: str) -> None:
    _print(agent, "result", subtype="success", is_error=False, duration_ms=1234, result=text)


def api_error(agent: FakeAgent) -> int:
    return agent.fail(f"Error: the request failed with status {agent['error']}")


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def _print(agent: FakeAgent, kind: str, **more: Any) -> None:
    agent.print_line({"type": kind, **more, "session_id": agent.session_id})
