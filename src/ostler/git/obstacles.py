"""What an agent can leave in git's way: closed files and directories, and pipes where git wants to read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_READ_BY_GIT = frozenset((".gitignore", ".gitattributes", ".gitmodules"))


def open_directories(root: Path) -> None:
    """Let us into every directory below; no link is followed."""
    for directory, folders, _ in os.walk(root):
        for name in folders:
            path = Path(directory, name)
            if not path.is_symlink() and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                path.chmod(0o700)


def remove_pipes(root: Path) -> None:
    """Remove what git would open and wait for without end: a pipe under the name of one of its own files."""
    for directory, _, files in os.walk(root):
        for name in _READ_BY_GIT.intersection(files):
            path = Path(directory, name)
            if stat.S_ISFIFO(path.lstat().st_mode):
                path.unlink()


def make_readable(root: Path, names: tuple[str, ...]) -> None:
    """Let us read those of the files that are ours and closed."""
    for name in names:
        path = root / name
        if not os.access(path, os.R_OK, follow_symlinks=False) and os.path.lexists(path):
            _add_read(path)


def _add_read(path: Path) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISREG(mode):
        path.chmod(stat.S_IMODE(mode) | stat.S_IRUSR)
