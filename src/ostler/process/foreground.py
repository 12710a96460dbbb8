"""Runs a command that a launcher changed on our terminal."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from ostler.model.command import Command

_NOT_FOUND = 127
_CHANGE_DIRECTORY = 'cd "$0" && exec "$@"'
_FIRST = 3  # the program gets its descriptors as 3, 4, ...
_ABOVE = 20  # copies above these cannot be overwritten by one another


def run_command_in_foreground(command: Command) -> int:
    """Run a command and return its status; 127 when it cannot be started.

    Ctrl-C is for the program: this process waits until it ends.
    """
    with _leave_interrupts(), _keep_terminal(), _copy(command.passed) as copies:
        try:
            pid = _spawn(command, copies)
        except OSError:
            return _NOT_FOUND
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _spawn(command: Command, copies: Sequence[int]) -> int:
    # Not subprocess, which passes descriptors only with the numbers that they have here.
    places = [(os.POSIX_SPAWN_DUP2, one, number) for number, one in enumerate(copies, _FIRST)]
    argv = ("/bin/sh", "-c", _CHANGE_DIRECTORY, command.cwd, *command.argv)
    return os.posix_spawn(argv[0], argv, command.env, file_actions=places)


@contextmanager
def _copy(descriptors: Sequence[int]) -> Generator[list[int]]:
    copies = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for one in descriptors]
    try:
        yield copies
    finally:
        for one in copies:
            os.close(one)


@contextmanager
def _leave_interrupts() -> Generator[None]:
    """Leave Ctrl-C to the program; only the main thread can set a handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler instead of SIG_IGN, which the program would inherit.
    before = signal.signal(signal.SIGINT, _do_nothing)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _keep_terminal() -> Generator[None]:
    """Be the foreground group again: a shell in a process namespace cannot return the terminal to us."""
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            terminal = sys.stdin.fileno()
            if os.isatty(terminal) and os.tcgetpgrp(terminal) != os.getpgrp():
                before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                os.tcsetpgrp(terminal, os.getpgrp())
                signal.signal(signal.SIGTTOU, before)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Leave the signal to the program in the foreground."""
