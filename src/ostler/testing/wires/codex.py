"""The output of `codex exec --json`: its own ids, and tokens of the whole thread."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .instance import instance_of

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

VERSION = "codex-cli 0.166.0"
MODEL = "gpt-fake-1"


def session_of(agent: FakeAgent) -> tuple[str, bool]:
    """`exec resume [options] ID -`: the id is before the last dash."""
    resumed = agent.arguments[:2] == ["exec", "resume"]
    return agent.arguments[agent.arguments.index("-") - 1] if resumed else str(uuid.uuid4()), resumed


def fitting(agent: FakeAgent, text: str) -> Any:
    path = agent.option("--output-schema")
    return instance_of(json.loads(Path(path).read_text("utf-8")), text) if path else None


def answer_with(agent: FakeAgent, value: Any) -> None:
    """The last message is the object."""
    text(agent, json.dumps(value))
    result(agent, json.dumps(value))


def confines(agent: FakeAgent) -> bool:
    """Return whether tools are confined to the workspace."""
    return "--dangerously-bypass-approvals-and-sandbox" not in agent.arguments


def unknown_session(agent: FakeAgent) -> int:
    return agent.fail(f"Error: thread/resume failed: no rollout found for thread id {agent.session_id}")


def taken_session(agent: FakeAgent) -> int:
    raise AssertionError(f"a new thread has the id of an existing one: {agent.session_id}")


def init(agent: FakeAgent) -> None:
    agent.print_line({"type": "thread.started", "thread_id": agent.session_id})
    warning = {"id": "item_0", "type": "error", "message": f"Model metadata for `{agent.model}` not found."}
    agent.print_line({"type": "item.completed", "item": warning})
    agent.print_line({"type": "turn.started"})


def text(agent: FakeAgent, text: str) -> None:
    if text:
        item = {"id": "item_1", "type": "agent_message", "text": text}
        agent.print_line({"type": "item.completed", "item": item})


def tool_started(agent: FakeAgent, path: str) -> None:
    _print_command(agent, "item.started", f"edit {path}", "in_progress", None)


def tool_done(agent: FakeAgent, path: str) -> None:
    _print_command(agent, "item.completed", f"edit {path}", "completed", 0)


def denied(agent: FakeAgent) -> None:
    _print_command(agent, "item.started", "make", "in_progress", None)
    _print_command(agent, "item.completed", "make", "declined", None)
    text(agent, "I was not allowed to.")
    result(agent, "I was not allowed to.")


def result(agent: FakeAgent, text: str) -> None:
    del text  # the text is in the last message
    turns = len(agent.history) + 1
    usage = {"input_tokens": 10 * turns, "cached_input_tokens": 0, "output_tokens": 5 * turns}
    agent.print_line({"type": "turn.completed", "usage": usage})


def api_error(agent: FakeAgent) -> int:
    message = (
        f"unexpected status {agent['error']}: {agent['error_message']}, url: http://127.0.0.1/v1/responses"
    )
    agent.print_line({"type": "error", "message": f"Reconnecting... 1/5 ({message})"})
    agent.print_line({"type": "error", "message": message})
    agent.print_line({"type": "turn.failed", "error": {"message": message}})
    return 1


def _print_command(agent: FakeAgent, kind: str, command: str, status: str, code: int | None) -> None:
    item = {"id": "item_2", "type": "command_execution", "command": command, "aggregated_output": ""}
    agent.print_line({"type": kind, "item": {**item, "exit_code": code, "status": status}})
