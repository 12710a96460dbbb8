"""Checks what a program passes to a CliExecutor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ostler.config.checks.validate import convert_settings
from ostler.config.settings import Settings
from ostler.errors import UsageError
from ostler.model.task import PRIORITY_NAMES

# Argument of CliExecutor -> what it is, and the methods that are called.
_PARTS = {
    "processes": ("a CommandRunner", ("run",)),
    "plugins": ("a PluginRegistry", ("notify", "with_capabilities")),
    "logger": ("a logging.Logger", ("debug", "info", "warning")),
    "clock": ("a Clock", ("now", "monotonic", "sleep")),
}


def read_settings(settings: Settings | Mapping[str, object] | None) -> Settings:
    """Return the settings, also from a mapping with the keys of ostler.toml. Raises UsageError."""
    if isinstance(settings, Settings):
        return settings
    return convert_settings(Settings, {} if settings is None else settings, "settings")


def check_call(prompt: object, cwd: object, priority: object, timeout_seconds: object, **ids: object) -> None:
    """Raise UsageError for an invalid argument, before anything is started."""
    for name, value in ids.items():
        if not isinstance(value, str):
            raise UsageError(f"{name}: expected a text, got {value!r:.80}")
    if not isinstance(prompt, str) or not prompt.strip():
        raise UsageError(f"prompt: expected a text, got {prompt!r}", "pass what the agent shall do")
    if not isinstance(cwd, str | Path) or not Path(cwd).is_dir():
        raise UsageError(f"cwd: expected a directory, got {cwd!r}", "pass a directory that exists")
    if priority not in PRIORITY_NAMES:
        raise UsageError(f"priority: expected one of {', '.join(PRIORITY_NAMES)}, got {priority!r}")
    if timeout_seconds is not None and not _is_positive(timeout_seconds):
        raise UsageError(f"timeout_seconds: expected a number > 0, got {timeout_seconds!r}")


def check_parts(**parts: object) -> None:
    """Raise UsageError for an injected part that is something else; None: there is none."""
    for name, part in parts.items():
        kind, methods = _PARTS[name]
        if part is not None and not _has_methods(part, methods):
            hint = f"it needs the methods {', '.join(methods)}"
            raise UsageError(f"{name}: expected {kind}, got {part!r:.80}", hint)


def _has_methods(value: object, names: tuple[str, ...]) -> bool:
    return all(callable(getattr(value, name, None)) for name in names)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
