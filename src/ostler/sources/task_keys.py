"""The keys of a task's front matter, with the spellings of other programs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, cast

import msgspec

from ostler.clock import read_next_time
from ostler.model.task import Task, to_priority
from ostler.prompt.task_text import KEY_NAMES
from ostler.prompt.template import find_template_errors

ValueParser = Callable[[Any], object]  # a ValueError states what is expected

TYPES: dict[str, Any] = {field.name: field.type for field in msgspec.structs.fields(Task)}
IGNORED_KEYS = frozenset({"created_at", "updated_at", "goal_id", "pipeline_id", "deadline", "metadata"})
GROUP = "agent_config"  # its keys are read like top-level keys
STATUS = "status"
SCHEDULE = "schedule"


def normalize_key(key: str) -> str:
    """Return the key in one spelling: maxRetries, max-retries and max_retries are the same."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).replace("-", "_").lower()


def find_field(key: str) -> tuple[str, ValueParser] | None:
    """Return the field of Task that a key sets, and how its value is read; None for an unknown key."""
    if key in _CONVERTED_KEYS:
        return _CONVERTED_KEYS[key]
    name = _ALIASES.get(key, key)
    return (name, _PARSERS.get(name, _keep_value)) if name in TYPES else None


def list_keys() -> list[str]:
    """Return all known keys, for suggestions."""
    return [
        *(KEY_NAMES.get(name, name) for name in TYPES),
        *_ALIASES,
        *_CONVERTED_KEYS,
        *IGNORED_KEYS,
        GROUP,
        STATUS,
        SCHEDULE,
    ]


def _keep_value(value: object) -> object:
    return value


def _parse_names(value: object) -> object:
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _parse_priority(value: object) -> object:
    if isinstance(value, str):
        return to_priority(value.lower()).upper()
    return f"P{value}" if isinstance(value, int) else value


def _change_case(value: object, change: Callable[[str], str] = str.lower) -> object:
    return change(value) if isinstance(value, str) else value


def _parse_time(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return read_next_time(value, time.time())
    except ValueError:
        raise ValueError("is not a time; use 18:30, 2030-01-31 or 2030-01-31T18:30Z") from None


def _parse_milliseconds(value: object) -> object:
    if isinstance(value, int | float):
        return value / 1000
    raise ValueError("must be a number of milliseconds")


def _parse_paths(value: object) -> object:
    """Return a list of mappings; a path alone is accepted as a mapping or as the whole list."""
    several = cast(list[object], value if isinstance(value, list) else [value])
    return [_parse_path(one) for one in several]


def _parse_path(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


def _parse_prompts(value: object) -> object:
    """Return the templates by phase; raise ValueError for one that cannot be rendered."""
    if not isinstance(value, dict):
        return value
    texts = cast(dict[str, object], value)
    for phase, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"must have a text for {phase}")
        for line, what in find_template_errors(text):
            raise ValueError(f"has a mistake in {phase}, line {line}: {what}")
    return texts


def _parse_next(value: object) -> object:
    """Return the skills; also accepts {type: agent, skill: NAME}, and values for none."""
    if isinstance(value, dict):
        mapping = cast(dict[str, object], value)
        value = mapping.get("skill", mapping.get("type"))
    if value == "director_review":
        raise ValueError("must be a skill; use `review: human` for a review by a person")
    return [] if value in ("complete", "pipeline_continue") else _parse_names(value)


_ALIASES = {
    "goal": "title",
    "requirements": "body",
    "description": "body",
    "to": "skill",
    "from": "sender",
    "revision_count": "revision",
    "model_tier": "tier",
    "depends_on": "after",
    "blocked_by": "after",
    "scheduled_for": "not_before",
    "budget": "budget_usd",
    "timeout": "timeout_seconds",
    "retries": "max_retries",
}
_PARSERS: dict[str, ValueParser] = {
    "weight": _change_case,
    "priority": _parse_priority,
    "phases": _parse_names,
    "after": _parse_names,
    "tags": _parse_names,
    "next": _parse_next,
    "prompts": _parse_prompts,
    "not_before": _parse_time,
    "inputs": _parse_paths,
    "output": _parse_path,
}
_CONVERTED_KEYS: dict[str, tuple[str, ValueParser]] = {"timeout_ms": ("timeout_seconds", _parse_milliseconds)}
