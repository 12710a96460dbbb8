"""Which commands an agent may use from inside its task: those that only read, `report`, `new` and `mcp`.

A command that is not listed is refused, so that a new one is safe by default. The library checks the same.
"""

from __future__ import annotations

import os

ALL = ("",)  # every subcommand
ALONE = ("-",)  # only without a subcommand
ALLOWED: dict[str, tuple[str, ...]] = {
    "agent": ("list", "sessions"),
    "completion": ALL,
    "config": ("show", "path", "validate"),
    "cost": ALL,
    "diff": ALL,
    "doctor": ALL,
    "events": ALL,
    "executors": ALL,
    "export": ALL,
    "journal": ("check",),
    "limits": ALONE,
    "log": ALL,
    "machine": ALL,
    "mcp": ALL,
    "models": ALL,
    "new": ALL,
    "pipeline": ("status",),
    "ps": ALL,
    "report": ALL,
    "show": ALL,
    "skills": ("list", "show", "check"),
    "status": ALL,
    "watch": ALL,
    "worktree": ("list",),
}


def refuse_inside_task(args: list[str]) -> None:
    """Raise UsageError for a command that changes something and that an agent started."""
    command, subcommand = args[0], next((arg for arg in args[1:] if not arg.startswith("-")), "")
    allowed = ALLOWED.get(command, ())
    if (
        allowed == ALL
        or subcommand in allowed
        or {"-h", "--help"} & set(args)
        or (allowed and not subcommand)
    ):
        return
    # Only commands that change something need these.
    from pathlib import Path  # noqa: PLC0415

    from ostler.config.find import find_root  # noqa: PLC0415
    from ostler.project.running.current_attempt import find_current_attempt, require_person  # noqa: PLC0415

    current = find_current_attempt(os.environ, find_root(Path.cwd(), os.environ))
    name = f"{command} {subcommand}" if allowed else command
    require_person(current, f"use ostler {name}")
