"""Claude Code's stream-json."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from .instance import instance_of

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

VERSION = "2.1.325 (Claude Code)"
MODEL = "claude-fake-1"
VERSION_KEY = "claude_code_version"


def session_of(agent: FakeAgent) -> tuple[str, bool]:
    resumed = agent.option("--resume")
    return resumed or agent.option("--session-id") or f"fake-{os.getpid()}", bool(resumed)


def fitting(agent: FakeAgent, text: str) -> Any:
    schema = agent.option("--json-schema")
    return instance_of(json.loads(schema), text) if schema else None


def answer_with(agent: FakeAgent, value: Any) -> None:
    """Like the real agent: a call of its own tool, then the same object in the result."""
    _print_block(agent, {"type": "tool_use", "id": "toolu_so", "name": "StructuredOutput", "input": value})
    done = {"type": "tool_result", "tool_use_id": "toolu_so", "content": "Structured output provided"}
    agent.print_line({"type": "user", "message": {"role": "user", "content": [done]}})
    print_result(agent, json.dumps(value), structured_output=value, stop_reason="tool_use")


def unknown_session(agent: FakeAgent) -> int:
    sentence = f"No conversation found with session ID: {agent.session_id}"
    print_result(agent, "", is_error=True, subtype="error_during_execution", errors=[sentence])
    return agent.fail(sentence)


def taken_session(agent: FakeAgent) -> int:
    return agent.fail(f"Error: Session ID {agent.session_id} is already in use.")


def init(agent: FakeAgent) -> None:
    head = {"type": "system", "subtype": "init", "session_id": agent.session_id}
    agent.print_line({**head, "model": agent.model, VERSION_KEY: agent["version"], "tools": ["Edit"]})


def text(agent: FakeAgent, text: str) -> None:
    _print_block(agent, {"type": "text", "text": text})


def tool_started(agent: FakeAgent, path: str) -> None:
    _print_block(agent, {"type": "tool_use", "id": path, "name": "Edit", "input": {"file_path": path}})


def tool_done(agent: FakeAgent, path: str) -> None:
    answer = {"type": "tool_result", "tool_use_id": path, "content": "ok"}
    agent.print_line({"type": "user", "message": {"role": "user", "content": [answer]}})


def denied(agent: FakeAgent) -> None:
    use = {"tool_name": "Bash", "tool_use_id": "toolu_1"}
    agent.print_line({"type": "system", "subtype": "permission_denied", **use, "message": "needs approval"})
    denial = {**use, "tool_input": {"command": "make"}}
    print_result(agent, "I was not allowed to.", permission_denials=[denial])


def result(agent: FakeAgent, text: str) -> None:
    print_result(agent, text)


def _print_limits(agent: FakeAgent) -> None:
    """The use of the windows after each answer; the reset is a full hour, as in every start of a test."""
    resets_at = (int(time.time()) // 3600 + 3) * 3600
    for shares in zip(*agent["limits"].values(), strict=True):
        windows = {
            name: {"utilization": share, "resetsAt": resets_at, "status": "allowed"}
            for name, share in zip(agent["limits"], shares, strict=True)
        }
        info = {"status": "allowed", "unifiedWindows": windows}
        agent.print_line({"type": "rate_limit_event", "rate_limit_info": info})


def api_error(agent: FakeAgent) -> int:
    """Like the real agent: retries are lines of the stream, except for 403, which is not retried."""
    for attempt in (1, 2) if agent["error"] != 403 else ():
        retry = {"attempt": attempt, "max_retries": 2, "retry_delay_ms": 1, "error_status": agent["error"]}
        agent.print_line({"type": "system", "subtype": "api_retry", **retry})
    text = f"API Error: Request rejected ({agent['error']}) · {agent['error_message']}"
    block = {"type": "text", "text": text}
    _print_block(agent, block, is_api_error_message=True, api_error_status=agent["error"])
    print_result(agent, text, is_error=True, api_error_status=agent["error"])
    return 1


def _print_block(agent: FakeAgent, block: dict[str, Any], **more: Any) -> None:
    message = {"id": f"msg_{agent.number}", "role": "assistant", "model": agent.model, "content": [block]}
    usage = {"input_tokens": 10, "output_tokens": 1}
    agent.print_line({"type": "assistant", "message": {**message, "usage": usage}, **more})


def print_result(agent: FakeAgent, text: str, *, is_error: bool = False, **more: Any) -> None:
    """The last line; its cost is the session's, as reported by versions after 2.1.197."""
    _print_limits(agent)
    total = agent.charge(0.0 if is_error else agent["cost_usd"])
    body: dict[str, Any] = {
        "subtype": "success",  # also for errors, like the real agent
        "is_error": is_error,
        "result": text,
        "session_id": agent.session_id,
        "stop_reason": "end_turn",
        "terminal_reason": "api_error" if is_error else "completed",
        "total_cost_usd": total if agent["version"] > "2.1.197" else agent["cost_usd"],
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 2},
        "permission_denials": [],
    }
    agent.print_line({**body, **more, "type": "result"})
