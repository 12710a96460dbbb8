"""Runs git on a repository whose files and configuration an agent may have written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ostler.git.repository import Repository
from ostler.git.run import lock
from ostler.git.run.failure import classify_failure, find_lock_file
from ostler.git.run.program import (
    clean_environment,
    execute_git,
    read_git_output,
    settings_environment,
)
from ostler.git.run.safe_config import read_safe_config
from ostler.process.tool import BoundedOutput, ToolResult
from ostler.waits import Wait

LONG_SECONDS = 1800.0  # for a checkout, or hashing all files


def run_git(
    repository: Repository,
    *args: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    accept: tuple[int, ...] = (0,),
    timeout_seconds: float = 60.0,
    pass_fds: tuple[int, ...] = (),
) -> ToolResult:
    """Run git on this repository with everything disabled that it could execute.

    Waits for lock files of other git processes, and removes one once if its owner is dead. Raises GitError
    for an exit status that is not in `accept`.
    """
    environment = _environment(repository, settings or {}) | dict(env or {})
    wait: Wait | None = None
    removed: set[Path] = set()
    while True:
        finished = execute_git(
            args,
            environment,
            repository.work_tree,
            stdin=stdin,
            timeout_seconds=timeout_seconds,
            pass_fds=pass_fds,
        )
        if finished.status in accept:
            if wait is not None:
                wait.finish()
            return finished
        lock_file = find_lock_file(finished.stderr)
        wait = wait or _start_wait(lock_file)
        if lock_file is None or not _wait_for_lock(lock_file, repository, removed, wait):
            raise classify_failure(args, finished.stderr, repository.work_tree)


def run_git_bounded(
    repository: Repository,
    limit: int,
    *args: str,
    env: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    timeout_seconds: float = 60.0,
) -> BoundedOutput:
    """Run a git command that only reads, and return at most `limit` bytes of its output. Raises GitError."""
    environment = _environment(repository, settings or {}) | dict(env or {})
    found = read_git_output(args, environment, repository.work_tree, limit, timeout_seconds)
    if found.status != 0 and not found.truncated:
        raise classify_failure(args, found.stderr, repository.work_tree)
    return found


def query_git(repository: Repository, *args: str, env: Mapping[str, str] | None = None) -> str:
    """Run git and return its output without the final newline; empty if the status is 1."""
    finished = run_git(repository, *args, env=env, accept=(0, 1))
    return finished.stdout.decode(errors="surrogateescape").removesuffix("\n")


def encode_names(names: tuple[str, ...]) -> bytes:
    """Return the names as input for -z."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _environment(repository: Repository, settings: Mapping[str, str]) -> dict[str, str]:
    combined = {**read_safe_config(repository).settings, **settings}
    return {
        **clean_environment(),
        **settings_environment(combined),
        "GIT_DIR": str(repository.git_dir),
        "GIT_COMMON_DIR": str(repository.common_dir),
        "GIT_WORK_TREE": str(repository.work_tree),
    }


def _start_wait(lock_file: Path | None) -> Wait:
    return Wait(lambda: f"waiting for {lock_file}: another git process has locked it", lock.WAIT_SECONDS, 0.1)


def _wait_for_lock(lock_file: Path, repository: Repository, removed: set[Path], wait: Wait) -> bool:
    """Wait a moment, or remove a stale lock file; return False if the time is over."""
    if lock_file not in removed and lock.remove_if_stale(lock_file, repository):
        removed.add(lock_file)
        return True
    return wait.pause()
