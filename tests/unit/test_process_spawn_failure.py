"""The messages for a program that cannot be started."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from ostler.errors import Code, SpawnError
from ostler.model.command import Command
from ostler.process.spawn_failure import check_arguments, create_spawn_error

AGENT = Command(("agent",), "/place", {})


@pytest.mark.parametrize(
    ("number", "step", "code", "expected", "advises"),
    [
        (errno.ENOENT, "exec", Code.AGENT_NOT_FOUND, "agent was not found", "install"),
        (errno.EACCES, "exec", Code.AGENT_NOT_FOUND, "agent is not executable", "chmod +x"),
        (errno.ENOEXEC, "exec", Code.AGENT_NOT_FOUND, "not a program for this machine", "architecture"),
        (errno.ENOENT, "chdir", Code.WORKTREE_LOST, "cannot enter the directory /place", "created again"),
        (errno.E2BIG, "exec", Code.SPAWN_FAILED, "too long", "stdin or in a file"),
        (errno.ENOMEM, "fork", Code.SPAWN_FAILED, "no memory left", "run.jobs"),
        (errno.EAGAIN, "fork", Code.SPAWN_FAILED, "process limit is reached", "ulimit -u"),
        (errno.EMFILE, "open", Code.SPAWN_FAILED, "too many open files", "ulimit -n"),
        (errno.ENFILE, "open", Code.SPAWN_FAILED, "the machine has too many", "fs.file-max"),
        (errno.ELOOP, "exec", Code.SPAWN_FAILED, "agent could not be started", "ostler doctor"),
    ],
)
def test_each_errno_has_its_code_sentence_and_advice(
    number: int, step: str, code: Code, expected: str, advises: str
) -> None:
    """Every error of the operating system has a reason and a next step."""
    error = create_spawn_error(number, step, AGENT)
    assert (error.code, error.errno) == (code, number)
    assert expected in error.message
    assert advises in error.hint


@pytest.mark.parametrize(
    ("content", "number", "expected", "advises"),
    [
        ("#!/no/python -u\n", errno.ENOENT, "the interpreter /no/python in the first line of", "first line"),
        ("#!/bin/sh\n", errno.EACCES, "is not executable", "run chmod +x '{}'"),
        ("echo hello\n", errno.ENOEXEC, "has no interpreter", "#!/bin/sh"),
        ("\x7fELF", errno.ENOEXEC, "is not a program for this machine", "this architecture"),
        (None, errno.EACCES, "is a directory", "the program in it"),
    ],
)
def test_the_file_explains_why_it_cannot_be_run(
    content: str | None, number: int, expected: str, advises: str, tmp_path: Path
) -> None:
    """The sentence names the file, and the advice is a command with its path where there is one."""
    agent = tmp_path / "my agent"
    agent.mkdir() if content is None else agent.write_text(content)
    error = create_spawn_error(number, "exec", Command((str(agent),), "/", {}))
    assert error.code is Code.AGENT_NOT_FOUND
    assert expected in error.message and str(agent) in error.message
    assert advises.format(agent) in error.hint


@pytest.mark.parametrize(
    ("command", "number"),
    [
        (Command(("agent", "x" * 131072), "/", {}), errno.E2BIG),
        (Command(("agent", "ü" * 65536), "/", {}), errno.E2BIG),
        (Command(("agent",), "/", {"A": "x" * 131070}), errno.E2BIG),
        (Command(("agent", "a\0b"), "/", {}), errno.EINVAL),
        (Command((), "/", {}), errno.EINVAL),
    ],
)
def test_arguments_that_exec_would_refuse_are_refused_before(command: Command, number: int) -> None:
    """One argument or variable of 128 KiB, a NUL byte, no program at all."""
    with pytest.raises(SpawnError) as caught:
        check_arguments(command)
    assert caught.value.errno == number


def test_longest_argument_that_exec_takes_is_accepted() -> None:
    """Linux allows 131071 bytes and the closing NUL."""
    check_arguments(Command(("agent", "x" * 131071), "/", {}))
