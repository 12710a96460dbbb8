"""The detail of a tool call: its paths are relative to the working directory of the agent."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from ostler.executors.todos import find_todos
from ostler.model.call import AgentEvent, ToolDenied, ToolUsed
from ostler.model.todo import Todo


def make_shortener(directory: str) -> Callable[[AgentEvent], AgentEvent]:
    """Return a function that shortens the details of an agent's events."""
    root = directory.rstrip("/")
    # Neither a part of a longer name nor the end of a longer path.
    here = (
        re.compile(rf"(?<![\w.-]){re.escape(root)}(?:/(?=[\w.@*-])|(?![\w.-]))")
        if root not in ("", ".")
        else None
    )

    def shorten(event: AgentEvent) -> AgentEvent:
        if not isinstance(event, ToolUsed | ToolDenied):
            return event
        detail = here.sub(_to_relative, event.detail) if here else event.detail
        if isinstance(event, ToolUsed):
            detail = _drop_own_directory(detail) or _summarize(find_todos(event.tool, event.input))
        return replace(event, detail=detail) if detail != event.detail else event

    return shorten


def _to_relative(match: re.Match[str]) -> str:
    return "" if match[0].endswith("/") else "."


def _drop_own_directory(detail: str) -> str:
    """Return a search in the whole directory without the directory."""
    return detail.removesuffix(" in .")


def _summarize(todos: tuple[Todo, ...]) -> str:
    if not todos:
        return ""
    done = sum(one.status == "completed" for one in todos)
    now = next((one.text for one in todos if one.status == "in_progress"), "")
    return f"{done} of {len(todos)} done" + (f": {now}" if now else "")
