"""The refs of the user's repository that a task's git directory contains: branches, tags and remotes."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.git.private.ref_names import (
    SYMBOLIC,
    is_object_name,
    is_ref_name,
    parse_packed_refs,
    parse_ref,
)
from ostler.git.repository import Repository
from ostler.git.run.command import run_git

_ROOTS = ("refs/heads/", "refs/tags/", "refs/remotes/")
_FORMAT = "--format=%(objectname) %(refname) %(symref)"
_MAX_REF_BYTES = 4096


def read_user_refs(repository: Repository) -> dict[str, str]:
    """Return the values of the refs; a symbolic one, such as origin/HEAD, has the value `ref: NAME`.

    Files are read without git, because this is done before every attempt.
    """
    if (repository.common_dir / "reftable").is_dir():
        return _list_with_git(repository)
    return _read_packed(repository.common_dir) | _read_loose(repository.common_dir)


def read_head(repository: Repository) -> str:
    """Return HEAD of the worktree: `ref: NAME` or a commit; empty if it is invalid."""
    if (repository.common_dir / "reftable").is_dir():
        named = run_git(repository, "symbolic-ref", "--quiet", "HEAD", accept=(0, 1)).stdout
        commit = run_git(repository, "rev-parse", "--verify", "--quiet", "HEAD", accept=(0, 1)).stdout
        return parse_ref(b"ref: " + named if named else commit)
    return _read_value(repository.git_dir / "HEAD")


def _list_with_git(repository: Repository) -> dict[str, str]:
    output = os.fsdecode(run_git(repository, "for-each-ref", _FORMAT, *_ROOTS).stdout)
    found: dict[str, str] = {}
    for line in output.splitlines():
        value, name, target = line.split(" ")
        if is_ref_name(name) and is_object_name(value):
            found[name] = f"{SYMBOLIC}{target}" if target else value
    return found


def _read_packed(common_dir: Path) -> dict[str, str]:
    try:
        packed = parse_packed_refs((common_dir / "packed-refs").read_bytes())
    except FileNotFoundError:
        return {}
    return {name: value for name, value in packed.items() if name.startswith(_ROOTS)}


def _read_loose(common_dir: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    start = len(os.path.join(common_dir, ""))  # noqa: PTH118  (there can be thousands of files)
    for root in _ROOTS:
        for folder, _, files in os.walk(common_dir / root):
            for file in files:
                path = f"{folder}/{file}"
                value = _read_value(path)
                if value and is_ref_name(path[start:]):
                    found[path[start:]] = value
    return found


def _read_value(path: Path | str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return parse_ref(os.read(descriptor, _MAX_REF_BYTES))
    except OSError:
        return ""
    finally:
        os.close(descriptor)
