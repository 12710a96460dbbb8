"""Find the project that a directory belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ostler.config.literal import quote
from ostler.errors import UsageError
from ostler.files.layout import Layout
from ostler.files.state_folder import VIEW

PROJECT_FILE = "ostler.toml"
_WORKTREES = (VIEW, "worktrees")


def find_root(start: Path, environ: Mapping[str, str]) -> Path | None:
    """Return OSTLER_PROJECT, else the nearest parent with .ostler/, ostler.toml or a journal; no worktree."""
    if named := environ.get("OSTLER_PROJECT"):
        return _named_root(start, named)
    place = start.resolve()
    if owner := _owner_of_worktree(place):
        return owner
    return next((folder for folder in (place, *place.parents) if _is_project(folder)), None)


def _named_root(start: Path, named: str) -> Path:
    try:
        root = (start / named).resolve()
        if root.is_dir():
            return _owner_of_worktree(root) or root
    except (OSError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        pass
    raise UsageError(
        f"OSTLER_PROJECT is not a directory: {quote(named)}", "unset it, or set it to the project's root"
    )


def _owner_of_worktree(place: Path) -> Path | None:
    """Return the project whose .ostler/worktrees contains this directory, the outermost if nested."""
    parts = place.parts
    for index in range(1, len(parts) - 1):
        if parts[index : index + 2] == _WORKTREES:
            return Path(*parts[:index])
    return None


def _is_project(folder: Path) -> bool:
    try:
        return (
            (folder / VIEW).is_dir()
            or (folder / PROJECT_FILE).exists()
            or Layout(folder).database.exists()  # `git clean` may have deleted both others
        )
    except OSError:  # a parent that is not readable
        return False


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Return the path of the user's settings, whether it exists or not; None without a home directory."""
    base, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    if base.startswith("/"):  # the XDG specification says that relative paths are ignored
        return Path(base) / "ostler" / "config.toml"
    return Path(home) / ".config" / "ostler" / "config.toml" if home else None
