"""The output of `copilot --output-format json`; an existing id is resumed without notice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .claude import session_of

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

__all__ = ["session_of"]

VERSION = "GitHub Copilot CLI 1.0.102."
MODEL = "copilot-fake-1"


def unknown_session(agent: FakeAgent) -> int:
    return agent.fail(f"Error: No session, task, or name matched '{agent.session_id}'.")


def taken_session(agent: FakeAgent) -> int:
    del agent
    return 0


def init(agent: FakeAgent) -> None:
    _print(agent, "session.tools_updated", model=agent.model)
    _print(agent, "user.message", content=agent.prompt)


def text(agent: FakeAgent, text: str) -> None:
    _print(agent, "assistant.message", model=agent.model, content=text, toolRequests=[])


def tool_started(agent: FakeAgent, path: str) -> None:
    _print(agent, "tool.execution_start", toolCallId=path, toolName="create", arguments={"path": path})


def tool_done(agent: FakeAgent, path: str) -> None:
    _print(agent, "tool.execution_complete", toolCallId=path, success=True, result={"content": "ok"})


def denied(agent: FakeAgent) -> None:
    _print(agent, "tool.execution_start", toolCallId="1", toolName="bash", arguments={"command": "make"})
    error = {"code": "denied", "message": "Permission denied because no interactive user was available."}
    _print(agent, "tool.execution_complete", toolCallId="1", success=False, error=error)
    text(agent, "I was not allowed to.")
    _print_result(agent, 0)


def result(agent: FakeAgent, text: str) -> None:
    if not text.strip():
        _print(agent, "session.error", errorType="query", message="No response was returned. Send it again.")
    _print_result(agent, 0 if text.strip() else 1)


def api_error(agent: FakeAgent) -> int:
    message, status = f"The provider refused (HTTP {agent['error']}).", agent["error"]
    _print(agent, "model.call_failure", statusCode=status, retryAttempt=0, errorMessage="fake")
    _print(agent, "session.error", errorType="query", message=message, statusCode=status)
    _print_result(agent, 1)
    return 1


def _print(agent: FakeAgent, kind: str, **data: Any) -> None:
    agent.print_line({"type": kind, "data": data, "id": "fake", "timestamp": "2026-11-15T06:23:26.432Z"})


def _print_result(agent: FakeAgent, status: int) -> None:
    usage = {"premiumRequests": 0, "sessionDurationMs": 374}
    agent.print_line({"type": "result", "sessionId": agent.session_id, "exitCode": status, "usage": usage})
