"""Make the standard streams reliable when the caller closed them or closes them later."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


def reopen_streams() -> None:
    """Reopen closed standard streams as /dev/null; call this first.

    Otherwise the next file that is opened gets the number of a closed stream.
    """
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(spare, True)
    os.close(spare)
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  (it was closed)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = _reopen(sys.stdout, 1, io.FileIO)
    sys.stderr = _reopen(sys.stderr, 2, _LossyFile)


def ignore_closed_output() -> None:
    """Discard output after the terminal or pipe is closed, so that the run continues."""
    sys.stdout = _reopen(sys.stdout, 1, _LossyFile)


def discard_unwritten() -> None:
    """Write all output and discard what cannot be written, so that Python exits without an error; call this
    last.
    """
    sys.stderr.flush()
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _LossyFile(io.FileIO):
    def write(self, data: bytes, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _reopen(stream: TextIO | None, number: int, kind: type[io.FileIO]) -> TextIO:
    """Return the stream on another raw file; characters that its encoding lacks are escaped."""
    if stream is not None:
        stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(number, "wb", closefd=False)),
        encoding=stream.encoding if stream is not None else "utf-8",
        errors="backslashreplace",
        line_buffering=number == 2 or os.isatty(number),
    )
