"""The detail of a tool call: its paths are relative to the working directory of the agent."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from ostler.executors.todos import find_todos
from ostler.model.call import AgentEvent, ToolDenied, ToolUsed
from ostler.model.todo import Todo

_IN_NAME = re.compile(r"[\w.-]")
# Neither a part of a longer name nor the end of a longer path.
_AFTER_ROOT = re.compile(r"/(?=[\w.@*-])|(?![\w.-])")


def make_shortener(directory: str) -> Callable[[AgentEvent], AgentEvent]:
    """Return a function that shortens the details of an agent's events."""
    root = directory.rstrip("/")
    root = "" if root == "." else root

    def shorten(event: AgentEvent) -> AgentEvent:
        if not isinstance(event, ToolUsed | ToolDenied):
            return event
        detail = _drop_root(event.detail, root) if root and root in event.detail else event.detail
        if isinstance(event, ToolUsed):
            detail = _drop_own_directory(detail) or _summarize(find_todos(event.tool, event.input))
        return replace(event, detail=detail) if detail != event.detail else event

    return shorten


def _drop_root(detail: str, root: str) -> str:
    """Return the detail with the paths inside of a directory relative to it."""
    # No expression with the directory in it: each attempt has its own, and compiling one takes 2 ms.
    parts, written, at = list[str](), 0, detail.find(root)
    while at >= 0:
        end = at + len(root)
        follows = None if _IN_NAME.match(detail[at - 1 : at]) else _AFTER_ROOT.match(detail, end)
        if follows is None:
            at = detail.find(root, at + 1)
            continue
        parts += (detail[written:at], "" if follows[0] else ".")
        written = follows.end()
        at = detail.find(root, written)
    return "".join((*parts, detail[written:]))


def _drop_own_directory(detail: str) -> str:
    """Return a search in the whole directory without the directory."""
    return detail.removesuffix(" in .")


def _summarize(todos: tuple[Todo, ...]) -> str:
    if not todos:
        return ""
    done = sum(one.status == "completed" for one in todos)
    now = next((one.text for one in todos if one.status == "in_progress"), "")
    return f"{done} of {len(todos)} done" + (f": {now}" if now else "")
