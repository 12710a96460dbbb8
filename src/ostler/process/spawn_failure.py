"""Error messages for programs that the operating system does not start."""

from __future__ import annotations

import errno
import os

from ostler.errors import Code, SpawnError
from ostler.model.command import Command

MAX_ARGUMENT_BYTES = 128 * 1024  # Linux counts the final NUL

_PROGRAM_ERRORS = {
    errno.ENOENT: (
        "was not found, or the interpreter in its first line was not found",
        "install it, or set its path in ostler.toml under [executors]",
    ),
    errno.EACCES: (
        "is not executable",
        "run chmod +x on it, or correct its path in ostler.toml",
    ),
    errno.ENOEXEC: (
        "is not a program for this machine",
        "install the build for this architecture, or give the script a #! line",
    ),
}

_MACHINE_ERRORS = {
    errno.E2BIG: ("its arguments or environment are too long", "pass long text by stdin or in a file"),
    errno.ENOMEM: ("the machine has no memory left", "run fewer tasks at once: lower run.jobs"),
    errno.EAGAIN: (
        "the process limit is reached",
        "raise it with ulimit -u, or run fewer tasks at once: lower run.jobs",
    ),
    errno.EMFILE: ("this run has too many open files", "raise the limit with ulimit -n, or lower run.jobs"),
    errno.ENFILE: ("the machine has too many open files", "close programs, or raise the sysctl fs.file-max"),
    errno.EINVAL: (
        "an argument or variable contains a NUL byte or is malformed",
        "correct args and env in ostler.toml",
    ),
}


def create_spawn_error(number: int, step: str, command: Command) -> SpawnError:
    """Return the error for an errno of a step: chdir, exec, fork or open."""
    if step == "chdir":
        return SpawnError(
            Code.WORKTREE_LOST,
            f"cannot enter the directory {command.cwd}: {os.strerror(number)}",
            "run the task again; its worktree is created again",
            number,
        )
    name = command.argv[0] if command.argv else "nothing"
    if step == "exec" and number in _PROGRAM_ERRORS:
        reason, hint = _PROGRAM_ERRORS[number]
        return SpawnError(Code.AGENT_NOT_FOUND, f"{name} {reason}", hint, number)
    reason, hint = _MACHINE_ERRORS.get(number, (os.strerror(number), "run ostler doctor"))
    return SpawnError(Code.SPAWN_FAILED, f"{name} could not be started: {reason}", hint, number)


def check_arguments(command: Command) -> None:
    """Raise SpawnError for arguments that exec would refuse."""
    strings = [*command.argv, *(f"{name}={value}" for name, value in command.env.items())]
    if any(
        len(text) >= MAX_ARGUMENT_BYTES // 4 and len(os.fsencode(text)) >= MAX_ARGUMENT_BYTES
        for text in strings
    ):
        raise create_spawn_error(errno.E2BIG, "exec", command)
    if not command.argv or any("\0" in text for text in strings):
        raise create_spawn_error(errno.EINVAL, "exec", command)
