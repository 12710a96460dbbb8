"""A short text that changes when files in a directory change, for projects without git."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

_SKIPPED = {".ostler", ".git", "node_modules", ".venv", "__pycache__"}


def fingerprint(root: Path) -> str:
    """Return a digest of names, sizes and times of the files below `root`; contents are not read."""
    digest = blake2b(digest_size=16)
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            path = os.path.join(folder, name)  # noqa: PTH118  (this loop is hot in large projects)
            try:
                found = os.lstat(path)
            except FileNotFoundError:
                continue
            digest.update(os.fsencode(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\0"))
    return digest.hexdigest()
