"""File modes also apply to root, within a context of a test."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@contextmanager
def unprivileged() -> Iterator[None]:
    """Run without the rights of root over files, in this thread."""
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
