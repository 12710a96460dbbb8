"""Starts git with an environment made from nothing."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.process.tool import Finished, ToolTimeout, run_tool

_CLEAN = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",  # git's sentences are read in failure.py
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would otherwise run what remote.*.uploadpack says
    "GIT_AUTHOR_NAME": "Ostler",
    "GIT_AUTHOR_EMAIL": "ostler@localhost",
    "GIT_COMMITTER_NAME": "Ostler",
    "GIT_COMMITTER_EMAIL": "ostler@localhost",
}
_SHORT = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_PATIENCE_SECONDS = (0.02, 0.1, 0.4, 1.0, 2.0)
_USERS_OWN = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


class GitTimeout(GitError):
    """Git did not end in time and was stopped."""


def clean_environment() -> dict[str, str]:
    """What git may know of us: where programs are, the time zone, and nothing of the user's configuration."""
    zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
    return {"PATH": search_path(), **zone, **_CLEAN}


def users_environment() -> dict[str, str]:
    """The same, with the user's own configuration: for reading values, never for working on a tree."""
    clean = {name: value for name, value in clean_environment().items() if name not in _USERS_OWN}
    return clean | {name: os.environ[name] for name in _USERS_OWN if name in os.environ}


def search_path() -> str:
    """PATH without relative entries, which would name programs in a tree that the agent wrote."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if entry.startswith("/"))


def settings_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings that win over every file. Not as -c: a name with = in it would be cut in two."""
    pairs = enumerate(settings.items())
    named = {
        f"GIT_CONFIG_{part}_{n}": text for n, pair in pairs for part, text in zip(_PARTS, pair, strict=True)
    }
    return {"GIT_CONFIG_COUNT": str(len(settings)), **named}


_PARTS = ("KEY", "VALUE")


def execute(
    args: tuple[str, ...],
    env: dict[str, str],
    cwd: Path,
    *,
    stdin: bytes = b"",
    timeout_seconds: float = 60.0,
    keep: tuple[int, ...] = (),
) -> Finished:
    """Run git once. `keep` are descriptors that stay open until git itself has ended."""
    run = partial(run_tool, ["git", *args], env=env, cwd=str(cwd), stdin=stdin, keep=keep)
    try:
        return _patiently(partial(run, timeout_seconds=timeout_seconds))
    except ToolTimeout as slow:
        message = f"git {args[0]} in {cwd} took longer than {timeout_seconds:g} s and was stopped"
        raise GitTimeout(Code.GIT_LOCKED, message, "see what holds the files there") from slow
    except OSError as refused:
        raise _not_started(cwd, refused) from refused


def _patiently(start: Callable[[], Finished]) -> Finished:
    """A machine that is short of processes or descriptors is asked again; other tasks may give some back."""
    for pause in _PATIENCE_SECONDS:
        try:
            return start()
        except OSError as refused:
            if refused.errno not in _SHORT:
                raise
        time.sleep(pause)
    return start()


def _not_started(cwd: Path, refused: OSError) -> GitError:
    if not cwd.is_dir():
        return GitError(Code.WORKTREE_LOST, f"{cwd} is gone", "ostler retry makes the worktree again")
    if isinstance(refused, FileNotFoundError):
        return GitError(Code.USAGE, "git is not installed, or not on PATH", "install git 2.38 or newer")
    message = f"git could not be started in {cwd}: {refused.strerror}"
    return GitError(
        Code.SPAWN_FAILED, message, "raise the limits with ulimit, or run fewer tasks at once: lower run.jobs"
    )
