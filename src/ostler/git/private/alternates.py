"""The directories with the objects of a repository: its own, and those that it borrows from."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MAX_DEPTH = 5  # the limit of git
_ESCAPE = re.compile(rb"\\(.)")
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def list_object_directories(common_dir: Path) -> tuple[Path, ...]:
    """Return the objects directory of a repository and all its alternates, without symbolic links."""
    found: dict[Path, None] = {}
    waiting = [(common_dir / "objects", 0)]
    while waiting:
        directory, depth = waiting.pop(0)
        real = Path(os.path.realpath(directory))
        if real in found or not real.is_dir():
            continue
        found[real] = None
        if depth < _MAX_DEPTH:
            waiting += [(one, depth + 1) for one in _read_alternates(real)]
    return tuple(found)


def has_alternates(directory: Path) -> bool:
    """Return whether an objects directory names others."""
    return (directory / "info" / "alternates").is_file()


def _read_alternates(directory: Path) -> list[Path]:
    try:
        lines = (directory / "info" / "alternates").read_bytes().split(b"\n")
    except OSError:
        return []
    return [directory / os.fsdecode(_unquote(line)) for line in lines if line and not line.startswith(b"#")]


def _unquote(line: bytes) -> bytes:
    if not (line.startswith(b'"') and line.endswith(b'"') and len(line) > 1):
        return line
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), line[1:-1])
