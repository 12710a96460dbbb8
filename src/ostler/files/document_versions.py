"""The versions of a document that a task has written, in its directory."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path, PurePosixPath

from ostler.files.atomic import make_private_dir, write_atomic

_FOLDER = "versions"


def compute_version(data: bytes) -> str:
    """Return the id of a version: equal for equal documents."""
    return blake2b(data, digest_size=16).hexdigest()


def name_version(version: str, path: str) -> str:
    """Return the path of a version below the task's directory."""
    return f"{_FOLDER}/{version}{PurePosixPath(path).suffix}"


def keep_version(task_dir: Path, path: str, data: bytes) -> None:
    """Keep a version of the document at this path; repeating it changes nothing."""
    copy = task_dir / name_version(compute_version(data), path)
    if not copy.exists():
        make_private_dir(copy.parent)
        write_atomic(copy, data)
