"""The todo list that an agent keeps while it works."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


class Todo(Struct, frozen=True):
    text: str
    status: TodoStatus = "pending"
