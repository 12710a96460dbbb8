"""The behaviour of a fake agent, given as KEY=VALUE."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from ostler.config.checks.expect import nearest
from ostler.errors import UsageError
from ostler.testing import fake_agent

_MORE: dict[str, Any] = {"plan": [], "logged_in": True}
_HINT = "--list prints the keys"


def list_keys() -> dict[str, str]:
    """Return the keys with their defaults."""
    return {key: f"default: {json.dumps(value)}" for key, value in _defaults().items()}


def parse_values(values: Iterable[str]) -> dict[str, Any]:
    """Return the behaviour; raises UsageError for an unknown key or a value of another type."""
    return dict(_parse(one) for one in values)


def list_plan(behaviour: dict[str, Any]) -> list[str]:
    """Return the faults that a plan names; raises UsageError for a step that is no fault and no object."""
    faults: list[str] = []
    for step in behaviour.get("plan", []):
        fault = cast("dict[str, Any]", step).get("fault", "") if isinstance(step, dict) else step
        if not isinstance(fault, str):
            raise UsageError(f"invalid step of the plan: {json.dumps(step)}", "use a fault, ok or an object")
        faults.append("" if fault == "ok" else fault)
    return faults


def _parse(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f'invalid --set "{text}": expected KEY=VALUE', _HINT)
    if key not in _defaults():
        closest = nearest(key, _defaults())
        raise UsageError(f"unknown key: {key}", f"did you mean {closest}?" if closest else _HINT)
    return key, _convert(key, value)


def _convert(key: str, value: str) -> Any:
    default = _defaults()[key]
    if isinstance(default, str):
        return value
    try:
        decoded = json.loads(value)
    except ValueError:
        decoded = value
    if default is None or _kind(decoded) == _kind(default):
        return decoded
    # The answer of a provider can be a status or a name.
    if key == "error" and isinstance(decoded, str):
        return decoded
    message = f"invalid --set {key}={value}: expected {_kind(default)} such as {json.dumps(default)}"
    raise UsageError(message, _HINT)


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case list():
            return "a JSON list"
        case dict():
            return "a JSON object"
        case _:
            return "a text"


def _defaults() -> dict[str, Any]:
    known = {key: value for key, value in fake_agent.DEFAULTS.items() if key != "fault"}
    return {**known, **_MORE}
