"""Finds the todo list of an agent in the input of its tool for it, in the forms of all agents."""

from __future__ import annotations

from typing import cast

import msgspec
from msgspec import Raw

from ostler.model.todo import Todo, TodoStatus
from ostler.text import first_line

MOST_TODOS = 100
# TodoWrite, todowrite, todo_write, write_todos, update_todo, update_plan
_TOOLS = ("todo", "update_plan")
_LISTS = ("todos", "plan", "items", "entries")
_TEXTS = ("content", "text", "step", "description", "title")
_STATUSES: dict[str, TodoStatus] = {
    "in_progress": "in_progress",
    "in-progress": "in_progress",
    "inprogress": "in_progress",
    "completed": "completed",
    "done": "completed",
    "cancelled": "cancelled",
}
_INVALID = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def find_todos(tool: str, tool_input: Raw) -> tuple[Todo, ...]:
    """Return the list that a call of a tool writes; empty for another tool."""
    name = tool.lower()
    if not any(part in name for part in _TOOLS):
        return ()
    try:
        members: object = msgspec.json.decode(tool_input)
    except _INVALID:
        return ()
    if not isinstance(members, dict):
        return ()
    found = cast("dict[str, object]", members)
    return next(filter(None, (read_todos(found.get(name)) for name in _LISTS)), ())


def read_todos(items: object) -> tuple[Todo, ...]:
    """Return the items of a list that have a text."""
    parts = cast("list[object]", items) if isinstance(items, list) else []
    read = (_read_item(cast("dict[str, object]", part)) for part in parts if isinstance(part, dict))
    return tuple(todo for todo in read if todo.text)[:MOST_TODOS]


def _read_item(item: dict[str, object]) -> Todo:
    text = next((str(item[name]) for name in _TEXTS if isinstance(item.get(name), str)), "")
    if item.get("completed") is True:
        return Todo(first_line(text), "completed")
    status = str(item.get("status", "")).lower()
    return Todo(first_line(text), _STATUSES.get(status, "pending"))
