"""The messages for a program that cannot be started."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from ostler.errors import Code, SpawnError
from ostler.executors.exit_status import classify_exit
from ostler.model.command import Command, Exit
from ostler.process.spawn_failure import check_arguments, create_spawn_error, explain_refused_start

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
    ("content", "printed", "expected"),
    [
        (
            "#!/no/python\n",
            "ostler: {}: No such file or directory",
            "interpreter /no/python in the first line of",
        ),
        (
            "#!/bin/sh\n",
            "ostler: {}: No such file or directory",
            "/bin/sh is not visible in the sandbox (set sandbox.",
        ),
        ("#!/bin/sh\n", "ostler: {}: Permission denied", "run chmod +x '{}'"),
        ("echo hello\n", "ostler: {}: Exec format error", "has no interpreter (give it a first line such as"),
        ("", "ostler: cannot start {}: Exec format error", "is not a program for this machine"),
        ("", "agent: {}: Exec format error", ""),
        ("", "ostler: the ports of the proxy cannot be opened: Permission denied", ""),
        ("", "ostler: {}: Too many levels of symbolic links", ""),
    ],
)
def test_a_program_that_a_sandbox_cannot_start_has_the_same_advice(
    content: str, printed: str, expected: str, tmp_path: Path
) -> None:
    """Inside, the error is only a line on stderr; the file outside explains it."""
    agent = tmp_path / "my agent"
    agent.write_text(content)
    explained = explain_refused_start(printed.format(agent))
    assert expected.format(agent) in explained and bool(expected) is bool(explained)


def test_the_exit_of_a_sandbox_names_the_program_that_was_not_started(tmp_path: Path) -> None:
    """C63: not `exited with status 126`."""
    agent = tmp_path / "agent"
    agent.write_text("echo hello\n")
    ended = Exit(126, 0.1, stderr_tail=f"ostler: {agent}: Exec format error\n")
    status = classify_exit(ended, "mine")
    assert status.code is Code.AGENT_NOT_FOUND and status.message.startswith(f"{agent} has no interpreter (")


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
