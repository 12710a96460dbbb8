"""Which of our variables an agent program needs."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from ostler.executors.protocol import Capabilities

_OFF = ("", "0", "false", "no")


def declared_environment(capabilities: Capabilities, environ: Mapping[str, str]) -> dict[str, str]:
    """The part of environ that the executor declares; conditional parts only when their switch is on."""
    patterns = list(capabilities.environment)
    for switch, more in capabilities.environment_with.items():
        if environ.get(switch, "").lower() not in _OFF:
            patterns += more
    return {name: value for name, value in environ.items() if _matches(name, patterns)}


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
