"""The user's git settings that decide which files are ignored and how lines end; they run nothing."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.git.repository import Repository
from ostler.git.run.program import execute_git, settings_environment, user_environment

_NAMES = ("core.excludesfile", "core.autocrlf", "core.eol")
_PATTERN = r"^core\.(excludesfile|autocrlf|eol)$"


def read_user_settings(repository: Repository) -> dict[str, str]:
    """Return the settings for a git command that reads or writes the user's own checkout."""
    pinned = {"GIT_DIR": str(repository.git_dir), "GIT_COMMON_DIR": str(repository.common_dir)}
    env = user_environment() | settings_environment({}) | pinned
    args = ("config", "-z", "--includes", "--get-regexp", _PATTERN)
    output = os.fsdecode(execute_git(args, env, repository.common_dir).stdout)
    entries = (entry.partition("\n") for entry in output.split("\0"))
    found = {name.lower(): value for name, _, value in entries if name.lower() in _NAMES}
    excludes = found.get("core.excludesfile") or _default_excludes()
    return found | {"core.excludesfile": str(Path(excludes).expanduser())}


def _default_excludes() -> str:
    home = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '/nonexistent')}/.config"
    return f"{home}/git/ignore"
