"""Modes that would hide an agent's files from a commit."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def open_directories(root: Path) -> None:
    """Let us into every directory below; no link is followed."""
    for directory, folders, _ in os.walk(root):
        for name in folders:
            path = Path(directory, name)
            if not path.is_symlink() and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                path.chmod(0o700)


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
