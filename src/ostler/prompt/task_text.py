"""Writes a task as Markdown: front matter for its fields, then its description."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from ostler.files.yaml_writer import write_yaml_value
from ostler.model.status import TaskStatus
from ostler.model.task import Task

KEY_NAMES = {"sender": "from"}  # fields with another key


def write_task(task: Task, status: TaskStatus | None = None) -> str:
    """Return the text from which read_task creates the same task again."""
    facts: dict[str, Any] = msgspec.to_builtins(task)
    body = facts.pop("body", "")
    if task.not_before is not None:
        facts["not_before"] = _format_time(task.not_before)
    if status is not None:
        facts["status"] = str(status)
    lines = "".join(_format_lines(KEY_NAMES.get(name, name), value) for name, value in facts.items())
    return f"---\n{lines}---\n" + (f"\n{body}\n" if body else "")


def _format_lines(key: str, value: Any) -> str:
    several = cast(list[Any], value) if isinstance(value, list | tuple) else []
    if any(isinstance(item, dict) for item in several):
        return f"{key}:\n" + "".join(f"  - {write_yaml_value(item)}\n" for item in several)
    return f"{key}: {write_yaml_value(cast(object, value))}\n"


def _format_time(at: float) -> str | float:
    """Return a readable time if it is exact, else the number."""
    try:
        text = datetime.fromtimestamp(at, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return at
    return text if datetime.fromisoformat(text).timestamp() == at else at
