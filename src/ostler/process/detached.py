"""A program that goes on without this one: in a session of its own, with a word when it has begun."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

from msgspec import Struct

_BEGUN = b"+"


class Detached(Struct, frozen=True):
    pid: int
    status: int | None = None  # it ended without a word that it had begun; minus a signal that ended it


def start_detached(argv: list[str], output: int) -> Detached:
    """Start it and wait for its `say_begun` or its end; it is told the descriptor as its last argument.

    Raises OSError when it cannot be started.
    """
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as word:
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
        begun = _listen(word.fileno(), process)
    return Detached(process.pid, None if begun else process.wait())


def _listen(word: int, process: subprocess.Popen[bytes]) -> bool:
    try:
        return os.read(word, 1) == _BEGUN
    except KeyboardInterrupt:
        process.terminate()  # it is not in the session that Ctrl-C goes to
        raise


def keep_word(descriptor: int) -> None:
    """To be called first: what this program starts must not hold the descriptor."""
    os.set_inheritable(descriptor, False)


def say_begun(descriptor: int) -> None:
    """To whoever started this program, if they still listen."""
    with suppress(OSError):
        os.write(descriptor, _BEGUN)
        os.close(descriptor)
