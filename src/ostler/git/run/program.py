"""Starts git with a minimal environment."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from ostler.errors import Code, GitError
from ostler.process.tool import BoundedOutput, ToolResult, ToolTimeout, read_tool_output, run_tool
from ostler.text import describe_os_error

_CLEAN = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",  # failure.py matches git's English messages
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null/none",  # info/grafts hides commits as a replacement does
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would run remote.*.uploadpack otherwise
    "GIT_AUTHOR_NAME": "Ostler",
    "GIT_AUTHOR_EMAIL": "ostler@localhost",
    "GIT_COMMITTER_NAME": "Ostler",
    "GIT_COMMITTER_EMAIL": "ostler@localhost",
}
_TEMPORARY_ERRNOS = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_RETRY_DELAYS_SECONDS = (0.02, 0.1, 0.4, 1.0, 2.0)
_USER_CONFIG_VARIABLES = (
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
_PARTS = ("KEY", "VALUE")
_T = TypeVar("_T")


class GitTimeout(GitError):
    """Git exceeded its timeout and was stopped."""


def clean_environment() -> dict[str, str]:
    """Return PATH, the time zone and fixed settings; nothing of the user's configuration."""
    zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
    return {"PATH": search_path(), **zone, **_CLEAN}


def user_environment() -> dict[str, str]:
    """Return the environment with the user's configuration, for reading values only."""
    clean = {name: value for name, value in clean_environment().items() if name not in _USER_CONFIG_VARIABLES}
    return clean | {name: os.environ[name] for name in _USER_CONFIG_VARIABLES if name in os.environ}


def search_path() -> str:
    """Return PATH without relative entries, which could refer to programs that an agent wrote."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if entry.startswith("/"))


def settings_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings that override every file. -c would split a name that contains =."""
    pairs = enumerate(settings.items())
    named = {
        f"GIT_CONFIG_{part}_{n}": text for n, pair in pairs for part, text in zip(_PARTS, pair, strict=True)
    }
    return {"GIT_CONFIG_COUNT": str(len(settings)), **named}


def execute_git(
    args: tuple[str, ...],
    env: dict[str, str],
    cwd: Path,
    *,
    stdin: bytes = b"",
    timeout_seconds: float = 60.0,
    pass_fds: tuple[int, ...] = (),
) -> ToolResult:
    """Run git once; it inherits `pass_fds`."""
    run = partial(run_tool, ["git", *args], env=env, cwd=str(cwd), stdin=stdin, pass_fds=pass_fds)
    return _start(args, cwd, timeout_seconds, partial(run, timeout_seconds=timeout_seconds))


def read_git_output(
    args: tuple[str, ...], env: dict[str, str], cwd: Path, limit: int, timeout_seconds: float
) -> BoundedOutput:
    """Run git once and return at most `limit` bytes of its output."""
    run = partial(read_tool_output, ["git", *args], env=env, cwd=str(cwd), limit=limit)
    return _start(args, cwd, timeout_seconds, partial(run, timeout_seconds=timeout_seconds))


def _start(args: tuple[str, ...], cwd: Path, timeout_seconds: float, run: Callable[[], _T]) -> _T:
    """Start git; raise GitError if it cannot start, or takes too long."""
    try:
        return _start_with_retries(run)
    except ToolTimeout as timeout:
        message = f"git {args[0]} in {cwd} took longer than {timeout_seconds:g} s and was stopped"
        raise GitTimeout(Code.GIT_LOCKED, message, "check which process uses the files there") from timeout
    except OSError as error:
        raise _classify_start_error(cwd, error) from error


def _start_with_retries(start: Callable[[], _T]) -> _T:
    """Retry while the machine has too few processes or descriptors; other tasks may release some."""
    for delay in _RETRY_DELAYS_SECONDS:
        try:
            return start()
        except OSError as error:
            if error.errno not in _TEMPORARY_ERRNOS:
                raise
        time.sleep(delay)
    return start()


def _classify_start_error(cwd: Path, error: OSError) -> GitError:
    if not cwd.is_dir():
        return GitError(
            Code.WORKTREE_LOST, f"{cwd} does not exist", "run ostler retry to create the worktree again"
        )
    if isinstance(error, FileNotFoundError):
        return GitError(Code.USAGE, "git is not installed, or not on PATH", "install git 2.38 or newer")
    message = f"git could not be started in {cwd}: {describe_os_error(error)}"
    return GitError(
        Code.SPAWN_FAILED, message, "raise the limits with ulimit, or run fewer tasks at once: lower run.jobs"
    )
