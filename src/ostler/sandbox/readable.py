"""Whether a path is there for this user; the methods of Path raise for a directory that is not readable."""

from __future__ import annotations

import os
from pathlib import Path


def has_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113


def has_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112


def has_link(path: Path) -> bool:
    return os.path.islink(path)  # noqa: PTH114


def has_path(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110
