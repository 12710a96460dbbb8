"""What an attempt to leave a sandbox is, and the calls that attempts use. Only the standard library."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Facts = dict[str, Any]
Action = Callable[[Facts], object]
LIBC = ctypes.CDLL(None, use_errno=True)


class Attempt(NamedTuple):
    """One attempt: it succeeds if the action returns. The control is the same attempt outside."""

    name: str
    act: Action
    # Where it succeeds: "user" for every user; "root" for root; "machine" for root, if this machine has it;
    # "none": it is harmful outside
    control: str


ATTEMPTS: dict[str, Attempt] = {}


def attempt(control: str = "user") -> Callable[[Action], Action]:
    """Register an attempt under the name of its function."""

    def register(act: Action) -> Action:
        ATTEMPTS[act.__name__] = Attempt(act.__name__, act, control)
        return act

    return register


def load_attempts() -> dict[str, Attempt]:
    """Return all attempts by name; the modules register theirs when they are imported."""
    for name in ("kernel", "outside", "reads", "writes"):
        importlib.import_module(name)
    return ATTEMPTS


def syscall(number: int, *arguments: object) -> int:
    """Make a system call, or raise OSError."""
    converted = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *converted)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call(name: str, *arguments: object) -> int:
    """Call a function of the C library, or raise OSError."""
    if (result := getattr(LIBC, name)(*arguments)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def read(path: str) -> bytes:
    with Path(path).open("rb", buffering=0) as file:
        return file.read(64)


def find(path: str, content: str) -> None:
    """Fail unless the file has the content."""
    if content.encode() not in Path(path).read_bytes():
        raise LookupError(path)


def open_for_writing(path: str) -> None:
    """Open without writing: a success shows that the file could be changed."""
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK))


def create(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
