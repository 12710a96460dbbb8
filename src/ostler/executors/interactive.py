"""The command line that opens an agent's own program on a session, for a person at a terminal."""

from __future__ import annotations

from ostler.config.settings import ExecutorSettings
from ostler.errors import UsageError
from ostler.executors.discover import PROGRAMS
from ostler.executors.registry import ALIASES

# The arguments before the session id; the flags that these agents document for their interactive mode.
_RESUME_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "claude": ("--resume",),
    "codex": ("resume",),
    "gemini": ("--resume",),
    "qwen": ("--resume",),
    "copilot": ("--resume",),
    "cursor": ("--resume",),
    "opencode": ("--session",),
}


def build_interactive_command(name: str, settings: ExecutorSettings, session_id: str) -> list[str]:
    """Return the command; raises UsageError for an executor without an interactive program."""
    kind = settings.type or name
    kind = ALIASES.get(kind, kind)
    program = next((one for one in PROGRAMS if one.name == kind), None)
    if program is None or kind not in _RESUME_ARGUMENTS:
        raise UsageError(
            f"{name} has no interactive program that can continue a session",
            f"these have one: {', '.join(_RESUME_ARGUMENTS)}",
        )
    return [program.require(settings.command, name), *_RESUME_ARGUMENTS[kind], session_id]
