"""A task as people find and write it: front matter for its fields, then its description, Markdown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from ostler.files.scalar import yaml_line
from ostler.model.status import TaskStatus
from ostler.model.task import Task

SPELLINGS = {"sender": "from"}  # fields whose key is another word


def write_task(task: Task, status: TaskStatus | None = None) -> str:
    """The text from which read_task makes the same task again, to the letter."""
    facts: dict[str, Any] = msgspec.to_builtins(task)
    body = facts.pop("body", "")
    if task.not_before is not None:
        facts["not_before"] = _moment(task.not_before)
    if status is not None:
        facts["status"] = str(status)
    lines = "".join(_lines(SPELLINGS.get(name, name), value) for name, value in facts.items())
    return f"---\n{lines}---\n" + (f"\n{body}\n" if body else "")


def _lines(key: str, value: Any) -> str:
    several = cast(list[Any], value) if isinstance(value, list | tuple) else []
    if any(isinstance(item, dict) for item in several):
        return f"{key}:\n" + "".join(f"  - {yaml_line(item)}\n" for item in several)
    return f"{key}: {yaml_line(cast(object, value))}\n"


def _moment(at: float) -> str | float:
    """A time that people can read, where none of it is lost by that."""
    try:
        text = datetime.fromtimestamp(at, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return at
    return text if datetime.fromisoformat(text).timestamp() == at else at
