"""Gemini CLI's stream-json: messages in parts, and its own exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .claude import session_of

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

__all__ = ["session_of"]

VERSION = "0.61.0"
MODEL = "gemini-fake-1"


def unknown_session(agent: FakeAgent) -> int:
    agent.fail("Error resuming session: No previous sessions found for this project.")
    return 42


def taken_session(agent: FakeAgent) -> int:
    agent.fail(f'Error starting session: Session ID "{agent.session_id}" already exists.')
    return 42


def init(agent: FakeAgent) -> None:
    agent.print_line({"type": "init", "session_id": agent.session_id, "model": agent.model})
    agent.print_line({"type": "message", "role": "user", "content": agent.prompt})


def text(agent: FakeAgent, text: str) -> None:
    half = len(text) // 2
    for piece in (text[:half], text[half:]):
        if piece:
            agent.print_line({"type": "message", "role": "assistant", "content": piece, "delta": True})


def tool_started(agent: FakeAgent, path: str) -> None:
    head = {"type": "tool_use", "tool_name": "write_file", "tool_id": path}
    agent.print_line({**head, "parameters": {"file_path": path, "content": "..."}})


def tool_done(agent: FakeAgent, path: str) -> None:
    agent.print_line({"type": "tool_result", "tool_id": path, "status": "success"})


def denied(agent: FakeAgent) -> None:
    head = {"tool_name": "run_shell_command", "tool_id": "tool_1"}
    agent.print_line({"type": "tool_use", **head, "parameters": {"command": "make"}})
    error = {"type": "tool_not_registered", "message": 'Tool "run_shell_command" not found.'}
    agent.print_line({"type": "tool_result", "tool_id": "tool_1", "status": "error", "error": error})
    text(agent, "I was not allowed to.")
    _print_result(agent, status="success")


def result(agent: FakeAgent, text: str) -> None:
    """An empty answer is reported as text, with exit code 0."""
    if not text.strip():
        message = "The model returned an empty response with no text or thoughts."
        agent.print_line({"type": "error", "severity": "error", "message": message})
    _print_result(agent, status="success" if text.strip() else "error")


def api_error(agent: FakeAgent) -> int:
    """The status is only in the exit code, modulo 256."""
    agent.fail(f"Error when talking to Gemini API: _ApiError: {agent['error_message']}")
    _print_result(
        agent, status="error", error={"type": "unknown", "message": f"[API Error: {agent['error_message']}]"}
    )
    return agent["error"] % 256


def _print_result(agent: FakeAgent, **more: Any) -> None:
    stats = {"total_tokens": 15, "input_tokens": 10, "output_tokens": 5, "cached": 0, "input": 10}
    agent.print_line({"type": "result", **more, "stats": stats})
