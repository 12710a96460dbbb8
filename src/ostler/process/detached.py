"""Starts a program in its own session that outlives this one, and waits until it reports its start."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

from msgspec import Struct

_STARTED = b"+"


class DetachedProgram(Struct, frozen=True):
    pid: int
    status: int | None = None  # exit status if it ended before it reported its start; negative: the signal


def start_detached(argv: list[str], output: int) -> DetachedProgram:
    """Start the program and wait for its `report_started` or its exit.

    The descriptor to report on is its last argument. Raises OSError when it cannot be started.
    """
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as started_pipe:
        try:
            process = subprocess.Popen(
                [*argv, str(writer)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=(writer,),
            )
        finally:
            os.close(writer)
        has_started = _wait_until_started(started_pipe.fileno(), process)
    return DetachedProgram(process.pid, None if has_started else process.wait())


def _wait_until_started(started_pipe: int, process: subprocess.Popen[bytes]) -> bool:
    try:
        return os.read(started_pipe, 1) == _STARTED
    except KeyboardInterrupt:
        process.terminate()  # Ctrl-C does not reach its session
        raise


def keep_descriptor_private(descriptor: int) -> None:
    """Stop child processes from inheriting the descriptor; call this first."""
    os.set_inheritable(descriptor, False)


def report_started(descriptor: int) -> None:
    """Report the start to the process that started this one, if it still waits."""
    with suppress(OSError):
        os.write(descriptor, _STARTED)
        os.close(descriptor)
