"""The keys of a task's front matter: our own words, and what other programs call the same things."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import msgspec

from ostler.clock import read_time
from ostler.model.task import Task
from ostler.prompt.task_text import SPELLINGS

Read = Callable[[Any], object]  # ValueError says what is expected

TYPES: dict[str, Any] = {field.name: field.type for field in msgspec.structs.fields(Task)}
NOT_USED = frozenset({"created_at", "updated_at", "goal_id", "pipeline_id", "deadline", "metadata"})
GROUP = "agent_config"  # its keys are read as if they stood outside
STATUS = "status"
SCHEDULE = "schedule"


def plain_key(key: str) -> str:
    """maxRetries, max-retries and max_retries are one key."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).replace("-", "_").lower()


def field_of(key: str) -> tuple[str, Read] | None:
    """The field of Task that a plain key means, and how its value is read; None for a key of nobody."""
    if key in _OTHER_UNITS:
        return _OTHER_UNITS[key]
    name = _OTHER_WORDS.get(key, key)
    return (name, _READS.get(name, _as_it_is)) if name in TYPES else None


def known_keys() -> list[str]:
    """All that may be written, for who looks for the nearest."""
    return [
        *(SPELLINGS.get(name, name) for name in TYPES),
        *_OTHER_WORDS,
        *_OTHER_UNITS,
        *NOT_USED,
        GROUP,
        STATUS,
        SCHEDULE,
    ]


def _as_it_is(value: object) -> object:
    return value


def _names(value: object) -> object:
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _priority(value: object) -> object:
    return f"P{value}" if isinstance(value, int) else _lower(value, str.upper)


def _lower(value: object, change: Callable[[str], str] = str.lower) -> object:
    return change(value) if isinstance(value, str) else value


def _moment(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return read_time(value)
    except ValueError:
        raise ValueError("is no time; write 18:30, 2030-01-31 or 2030-01-31T18:30Z") from None


def _seconds(value: object) -> object:
    if isinstance(value, int | float):
        return value / 1000
    raise ValueError("must be a number of milliseconds")


def _paths(value: object) -> object:
    """A list of mappings; a bare path is one of them, and so is a bare path alone."""
    several = cast(list[object], value if isinstance(value, list) else [value])
    return [_path(one) for one in several]


def _path(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


def _next(value: object) -> object:
    """Skills; also the marketing seed's {type: agent, skill: NAME}, and its words for nobody."""
    if isinstance(value, dict):
        said = cast(dict[str, object], value)
        value = said.get("skill", said.get("type"))
    if value == "director_review":
        raise ValueError("names a skill; write `review: human` to have someone look at the document")
    return [] if value in ("complete", "pipeline_continue") else _names(value)


_OTHER_WORDS = {
    "goal": "title",
    "requirements": "body",
    "description": "body",
    "to": "skill",
    "from": "sender",
    "revision_count": "revision",
    "model_tier": "tier",
    "depends_on": "after",
    "blocked_by": "after",
    "budget": "budget_usd",
}
_READS: dict[str, Read] = {
    "weight": _lower,
    "priority": _priority,
    "phases": _names,
    "after": _names,
    "tags": _names,
    "next": _next,
    "not_before": _moment,
    "inputs": _paths,
    "output": _path,
}
_OTHER_UNITS: dict[str, tuple[str, Read]] = {"timeout_ms": ("timeout_seconds", _seconds)}
