"""Standard output and error that a program can rely on, whatever the caller closed or closes later."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


def secure_streams() -> None:
    """To be called first: what is closed becomes /dev/null, so that no file of ours gets its number."""
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(spare, True)
    os.close(spare)
    sys.stdout = _open_again(sys.stdout, 1, io.FileIO)
    sys.stderr = _open_again(sys.stderr, 2, _Lasting)


def outlive_readers() -> None:
    """From now on output that nobody takes is dropped: a closed terminal or pipe stops no work."""
    sys.stdout = _open_again(sys.stdout, 1, _Lasting)


def drop_unwritten() -> None:
    """To be called last: what could not be written by now is not tried again while Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _Lasting(io.FileIO):
    def write(self, data: bytes, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _open_again(stream: TextIO | None, number: int, kind: type[io.FileIO]) -> TextIO:
    """The same stream on another raw file; letters that its encoding lacks are shown as escapes."""
    if stream is not None:
        stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(number, "wb", closefd=False)),
        encoding=stream.encoding if stream is not None else "utf-8",
        errors="backslashreplace",
        line_buffering=number == 2 or os.isatty(number),
    )
