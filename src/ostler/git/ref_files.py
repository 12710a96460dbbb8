"""Reads a ref and a new commit from the files of a repository, where that needs no git process; flushes refs.

Everything unusual is left to git: another storage of refs, a symbolic ref, an object in a pack.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path

from ostler.files.atomic import flush_directory
from ostler.git.repository import Repository

_NAME = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?)\n?")
_SYMBOLIC = re.compile(rb"ref: (refs/[^\s]+)\n?")
_MAX_BYTES = 4096
_COMMIT = re.compile(rb"commit \d+\0tree ([0-9a-f]{40}(?:[0-9a-f]{24})?)\n")


def read_ref(repository: Repository, ref: str) -> str | None:
    """Return the object name of a ref below refs/, empty if there is none; None if only git can read it."""
    if (repository.common_dir / "reftable").is_dir():
        return None
    content = _read(repository.common_dir / ref)
    # In this order, as git packs a ref before it deletes the file.
    if content is None or content == b"":
        return _read_packed(repository, ref) if content is None else None
    found = _NAME.fullmatch(content)
    return found[1].decode() if found else None


def read_attached_branch(repository: Repository) -> str | None:
    """Return the ref that HEAD refers to; None if it refers to a commit, or only git can read it."""
    found = _SYMBOLIC.fullmatch(_read(repository.git_dir / "HEAD") or b"")
    return os.fsdecode(found[1]) if found and not (repository.common_dir / "reftable").is_dir() else None


def read_loose_tree(repository: Repository, commit: str) -> str:
    """Return the tree of a commit that has a file of its own; empty if only git can tell."""
    try:
        with (repository.common_dir / "objects" / commit[:2] / commit[2:]).open("rb") as file:
            content = zlib.decompress(file.read(_MAX_BYTES))
    except (OSError, zlib.error):
        return ""
    found = _COMMIT.match(content)
    kind = "sha1" if len(commit) == 40 else "sha256"
    # Git checks it too: an object can be under the name of another one.
    is_intact = hashlib.new(kind, content, usedforsecurity=False).hexdigest() == commit
    return found[1].decode() if found and is_intact else ""


def flush_refs(repository: Repository, refs: Iterable[str]) -> None:
    """Flush the names of refs that git has set: it flushes the content of their files, then renames them."""
    tables = repository.common_dir / "reftable"
    folders = [tables] if tables.is_dir() else [(repository.common_dir / ref).parent for ref in refs]
    for folder in dict.fromkeys(folders):
        # Without the directory, another git has packed the ref meanwhile.
        flush_directory(folder if folder.is_dir() else repository.common_dir)


def _read(path: Path) -> bytes | None:
    """Return the beginning of a regular file; None if there is none, empty if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return b""
    try:
        return os.read(descriptor, _MAX_BYTES)
    except IsADirectoryError:
        return None
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _read_packed(repository: Repository, ref: str) -> str | None:
    try:
        packed = (repository.common_dir / "packed-refs").read_bytes()
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    found = re.search(rb"^([0-9a-f]+) " + re.escape(os.fsencode(ref)) + rb"$", packed, re.MULTILINE)
    if found is None:
        return ""
    return found[1].decode() if _NAME.fullmatch(found[1]) else None
