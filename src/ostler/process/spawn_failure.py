"""Error messages for programs that the operating system does not start."""

from __future__ import annotations

import errno
import os
import re
import shlex
from pathlib import Path

from ostler.errors import Code, SpawnError
from ostler.model.command import Command

MAX_ARGUMENT_BYTES = 128 * 1024  # Linux counts the final NUL

_PATH_SETTING = "its path in ostler.toml under [executors]"
_BINARY = b"\x7fELF"
_PROGRAM_ERRORS = (errno.ENOENT, errno.EACCES, errno.EISDIR, errno.ENOEXEC)

# What the first program of a sandbox prints when it cannot start the command.
_REFUSED_START = re.compile(r"ostler: (?:cannot start )?(?P<name>/.+): (?P<reason>[^:]+)")

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
            f"cannot enter the directory {command.cwd}: {os.strerror(number).lower()}",
            "run the task again; its worktree is created again",
            number,
        )
    name = command.argv[0] if command.argv else "nothing"
    if step == "exec" and number in _PROGRAM_ERRORS:
        reason, hint = _explain_program(number, name)
        return SpawnError(Code.AGENT_NOT_FOUND, reason, hint, number)
    reason, hint = _MACHINE_ERRORS.get(number, (os.strerror(number).lower(), "run ostler doctor"))
    return SpawnError(Code.SPAWN_FAILED, f"{name} could not be started: {reason}", hint, number)


def _explain_program(number: int, name: str) -> tuple[str, str]:
    """Return why a program cannot be run, and what to do; the file itself shows more than the errno."""
    path, start = shlex.quote(name), _read_start(name)
    if Path(name).is_dir():
        return f"{name} is a directory", f"set {_PATH_SETTING} to the program in it"
    if number == errno.ENOENT and (interpreter := _find_interpreter(start)):
        return (
            f"the interpreter {interpreter} in the first line of {name} was not found",
            f"install it, or correct the first line of {name}",
        )
    if number == errno.ENOENT:
        return f"{name} was not found", f"install it, or set {_PATH_SETTING}"
    if number == errno.EACCES:
        return f"{name} is not executable", f"run chmod +x {path}, or set {_PATH_SETTING}"
    if start.startswith(_BINARY) or not start:
        return f"{name} is not a program for this machine", "install the build for this architecture"
    return f"{name} has no interpreter", f"give it a first line such as #!/bin/sh, or set {_PATH_SETTING}"


def explain_refused_start(line: str) -> str:
    """Return why a sandbox could not start a program, with the advice; empty for any other output."""
    found = _REFUSED_START.fullmatch(line)
    numbers = [one for one in _PROGRAM_ERRORS if found and os.strerror(one) == found["reason"]]
    if not found or not numbers:
        return ""
    name, number = found["name"], numbers[0]
    hidden = _find_interpreter(_read_start(name)) or name
    if number == errno.ENOENT and Path(hidden).exists():
        folder = Path(hidden).parent
        return f'{hidden} is not visible in the sandbox (set sandbox.allow_paths = ["{folder}"])'
    reason, hint = _explain_program(number, name)
    return f"{reason} ({hint})"


def _read_start(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            return file.read(256)
    except OSError:
        return b""


def _find_interpreter(start: bytes) -> str:
    line = start.partition(b"\n")[0].decode("utf-8", "replace")
    return line[2:].split()[0] if line.startswith("#!") and line[2:].split() else ""


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
