"""The one hardened way to run git on a repository whose tree and configuration an agent may have written."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from ostler.git import lock
from ostler.git.failure import explain, lock_in_the_way
from ostler.git.program import clean_environment, execute, settings_environment
from ostler.git.repository import Repository
from ostler.git.shield import shield
from ostler.process.tool import Finished

LONG_SECONDS = 1800.0  # a checkout, or hashing what an agent made


def run(
    repository: Repository,
    *args: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    accept: tuple[int, ...] = (0,),
    timeout_seconds: float = 60.0,
    keep: tuple[int, ...] = (),
) -> Finished:
    """Run git with the repository pinned and everything that it could execute switched off.

    Waits for another git's lock file, and removes it once when its owner is dead. Raises GitError for every
    exit status that is not in `accept`.
    """
    environment = _environment(repository, settings or {}) | dict(env or {})
    deadline = time.monotonic() + lock.PATIENCE_SECONDS
    removed: set[Path] = set()
    while True:
        finished = execute(
            args, environment, repository.work_tree, stdin=stdin, timeout_seconds=timeout_seconds, keep=keep
        )
        if finished.status in accept:
            return finished
        held = lock_in_the_way(finished.stderr)
        if held is None or time.monotonic() >= deadline:
            raise explain(args, finished.stderr, repository.work_tree)
        _wait_for(held, repository, removed)


def ask(repository: Repository, *args: str, env: Mapping[str, str] | None = None) -> str:
    """One line of answer; empty when git says no."""
    finished = run(repository, *args, env=env, accept=(0, 1))
    return finished.stdout.decode(errors="surrogateescape").removesuffix("\n")


def as_stdin(names: tuple[str, ...]) -> bytes:
    """Names as -z wants them."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _environment(repository: Repository, settings: Mapping[str, str]) -> dict[str, str]:
    laid_over = {**shield(repository).settings, **settings}
    return {
        **clean_environment(),
        **settings_environment(laid_over),
        "GIT_DIR": str(repository.git_dir),
        "GIT_COMMON_DIR": str(repository.common_dir),
        "GIT_WORK_TREE": str(repository.work_tree),
    }


def _wait_for(held: Path, repository: Repository, removed: set[Path]) -> None:
    if held not in removed and lock.remove_if_stale(held, repository):
        removed.add(held)
    else:
        time.sleep(0.1)
