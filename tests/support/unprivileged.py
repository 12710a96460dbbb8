"""What a file's mode forbids is forbidden to root as well, for as long as a test wants it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@contextmanager
def unprivileged() -> Iterator[None]:
    """Without the rights of root over files, in this thread."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    _check(libc.capget(header, data))
    before = data[0]
    data[0] = before & ~_OVERRIDES
    _check(libc.capset(header, data))
    try:
        yield
    finally:
        data[0] = before
        _check(libc.capset(header, data))


def _check(status: int) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
