"""Finds out whether git can use a repository: it reads the last commit, writes an object and locks refs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.git.repository import Repository
from ostler.git.run.command import run_git
from ostler.process.tool import ToolResult

SECONDS = 20.0  # a git that hangs is a fault too


def find_repository_fault(repository: Repository, branch_prefix: str) -> GitError | None:
    """Return why no task can use the repository now; None if git can read and write it."""
    try:
        commit = _read_last_commit(repository)
        _write_object(repository)
        if commit:
            _lock_refs(repository, commit, branch_prefix)
    except GitError as fault:
        return fault
    return None


def _read_last_commit(repository: Repository) -> str:
    """Return the last commit, of which the tree can be read; empty on a branch without one."""
    if _run(repository, "rev-parse", "--verify", "--quiet", "HEAD^{tree}", accept=(0, 1)).status == 1:
        return ""
    return _run(repository, "rev-parse", "--verify", "HEAD^{commit}").stdout.decode().strip()


def _write_object(repository: Repository) -> None:
    """Write an object and delete it; it is a new one, since git does not write one that it has."""
    text = os.urandom(16).hex().encode()
    name = _run(repository, "hash-object", "-w", "--stdin", stdin=text).stdout.decode().strip()
    with suppress(OSError):
        (repository.common_dir / "objects" / Path(name[:2], name[2:])).unlink()


def _lock_refs(repository: Repository, commit: str, branch_prefix: str) -> None:
    """Begin to create refs of a task, and abort it, so that nothing is left."""
    name = f"probe-{os.urandom(8).hex()}"
    refs = (f"refs/heads/{branch_prefix}{name}", f"refs/ostler/{name}")
    lines = ("start", *(f"create {ref} {commit}" for ref in refs), "prepare", "abort")
    try:
        _run(repository, "update-ref", "--stdin", stdin="".join(f"{line}\n" for line in lines).encode())
    except GitError as error:
        if error.code is not Code.BRANCH_EXISTS:  # each task reports it
            raise


def _run(
    repository: Repository, *args: str, stdin: bytes = b"", accept: tuple[int, ...] = (0,)
) -> ToolResult:
    return run_git(repository, *args, stdin=stdin, accept=accept, timeout_seconds=SECONDS)
