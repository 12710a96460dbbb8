"""The settings of one executor, by its name."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.config.literal import quote
from ostler.config.settings import ExecutorSettings, Settings
from ostler.errors import UsageError

BUILT_IN = ("claude", "command", "scripted")
_ALIASES = {"claude-code": "claude"}


def executor_settings(settings: Settings, name: str) -> ExecutorSettings:
    """Its section with the type filled in; a built-in executor needs none. Raises UsageError when unknown."""
    section = next((settings.executors[one] for one in _names(name) if one in settings.executors), None)
    if section is None and _plain(name) not in BUILT_IN:
        raise UsageError(f"unknown executor: {_shown(name)}", _hint(settings))
    found = section or ExecutorSettings()
    return replace(found, type=_plain(found.type or name))


def _plain(name: str) -> str:
    return _ALIASES.get(name, name)


def _names(name: str) -> list[str]:
    """The name as it was given, then its other spellings."""
    same = [alias for alias, plain in _ALIASES.items() if plain == _plain(name)]
    return [name, _plain(name), *same]


def _hint(settings: Settings) -> str:
    known = sorted({*BUILT_IN, *settings.executors})
    return "known executors: " + ", ".join(_shown(name) for name in known)


def _shown(name: str) -> str:
    return name if name.isprintable() and name else quote(name)
