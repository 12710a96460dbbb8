"""The output of `opencode run --format json`: its own ids in every line, and no final line."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

VERSION = "1.18.33"
MODEL = "fake/m1"


def session_of(agent: FakeAgent) -> tuple[str, bool]:
    resumed = agent.option("--session")
    return resumed or f"ses_{uuid.uuid4().hex[:26]}", bool(resumed)


def unknown_session(agent: FakeAgent) -> int:
    return agent.fail("\x1b[91m\x1b[1mError: \x1b[0mSession not found")


def taken_session(agent: FakeAgent) -> int:
    raise AssertionError(f"a new session has the id of an existing one: {agent.session_id}")


def init(agent: FakeAgent) -> None:
    _print(agent, "step_start", {"type": "step-start"})


def text(agent: FakeAgent, text: str) -> None:
    if text:
        _print(agent, "text", {"type": "text", "text": text})


def tool_started(agent: FakeAgent, path: str) -> None:
    """Nothing is printed before a tool has ended."""


def tool_done(agent: FakeAgent, path: str) -> None:
    state = {"status": "completed", "input": {"filePath": path}, "output": "ok"}
    _print(agent, "tool_use", {"type": "tool", "tool": "write", "callID": path, "state": state})
    _finish(agent, "tool-calls")


def denied(agent: FakeAgent) -> None:
    error = "The user rejected permission to use this specific tool call."
    state = {"status": "error", "input": {"command": "make"}, "error": error}
    _print(agent, "tool_use", {"type": "tool", "tool": "bash", "callID": "call_1", "state": state})
    text(agent, "I was not allowed to.")
    _finish(agent, "stop")


def result(agent: FakeAgent, text: str) -> None:
    del text  # the text is in the last part
    _finish(agent, "stop")


def api_error(agent: FakeAgent) -> int:
    data = {"message": agent["error_message"], "statusCode": agent["error"], "isRetryable": False}
    line = {"type": "error", "sessionID": agent.session_id, "error": {"name": "APIError", "data": data}}
    agent.print_line(line)
    return 1


def _finish(agent: FakeAgent, reason: str) -> None:
    tokens = {"total": 15, "input": 10, "output": 5, "reasoning": 0, "cache": {"write": 0, "read": 0}}
    _print(agent, "step_finish", {"type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0.00002})


def _print(agent: FakeAgent, kind: str, part: dict[str, Any]) -> None:
    head = {"type": kind, "sessionID": agent.session_id}
    agent.print_line({**head, "part": {**part, "sessionID": agent.session_id}})
