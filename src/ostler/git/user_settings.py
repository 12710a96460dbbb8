"""The user's git settings that decide which files are ignored and how lines end; they run nothing."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.git.repository import Repository
from ostler.git.run.user_config import read_user_entries

_NAMES = ("core.excludesfile", "core.autocrlf", "core.eol")


def read_user_settings(repository: Repository) -> dict[str, str]:
    """Return the settings for a git command that reads or writes the user's own checkout."""
    found = {name: value for name, value in read_user_entries(repository) if name in _NAMES}
    excludes = found.get("core.excludesfile") or _default_excludes()
    return found | {"core.excludesfile": str(Path(excludes).expanduser())}


def _default_excludes() -> str:
    home = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '/nonexistent')}/.config"
    return f"{home}/git/ignore"
