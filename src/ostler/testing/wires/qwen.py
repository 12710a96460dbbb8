"""Qwen Code's stream-json: like claude's, but errors are answers, and tokens are the session's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .claude import session_of, taken_session, text, tool_done, tool_started

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

__all__ = ["session_of", "taken_session", "text", "tool_done", "tool_started"]

VERSION = "0.15.10"
MODEL = "qwen-fake-1"


def unknown_session(agent: FakeAgent) -> int:
    return agent.fail(
        f"No saved session found with ID {agent.session_id}. Run `qwen --resume` without an ID."
    )


def init(agent: FakeAgent) -> None:
    head = {"type": "system", "subtype": "init", "session_id": agent.session_id}
    agent.print_line({**head, "model": agent.model, "qwen_code_version": VERSION, "permission_mode": "yolo"})


def denied(agent: FakeAgent) -> None:
    denial = {"tool_name": "run_shell_command", "tool_use_id": "call_1", "tool_input": {"command": "make"}}
    _print_result(agent, "I was not allowed to.", [denial])


def result(agent: FakeAgent, text: str) -> None:
    _print_result(agent, text, [])


def api_error(agent: FakeAgent) -> int:
    message = f"[API Error: {agent['error']} fake]"
    text(agent, message)
    _print_result(agent, message, [])
    return 0


def _print_result(agent: FakeAgent, text: str, denials: list[dict[str, Any]]) -> None:
    head = {"type": "result", "subtype": "success", "is_error": False, "session_id": agent.session_id}
    turns = len(agent.history) + 1
    usage = {"input_tokens": 10 * turns, "output_tokens": 5 * turns, "total_tokens": 15 * turns}
    agent.print_line({**head, "result": text, "usage": usage, "permission_denials": denials})
