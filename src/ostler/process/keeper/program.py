"""Starts a program in its own session with the requested descriptors and environment."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from collections.abc import Mapping, Sequence

_Action = tuple[int, int, int] | tuple[int, int, str, int, int]
_STREAMS = 3
_FIRST_COPY = 128
_RESET_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


class StartError(Exception):
    """The operating system refused to start the program; `step` is the failed call."""

    def __init__(self, number: int, step: str) -> None:
        super().__init__(step)
        self.errno = number
        self.step = step


def enter_directory(cwd: bytes) -> None:
    """Change the working directory, which the program inherits."""
    try:
        os.chdir(cwd)
    except OSError as error:
        raise StartError(error.errno or errno.EINVAL, "chdir") from None


def start_program(
    argv: Sequence[bytes], env: Mapping[bytes, bytes], descriptors: Sequence[int], *, pty: bool
) -> int:
    """Start the program in the current directory and return its pid."""
    copies: list[int] = []
    try:
        copies += [_move_up(one) for one in descriptors[_STREAMS:]]
        actions = _terminal_actions(*descriptors[:2]) if pty else _copy_actions(descriptors[:_STREAMS], 0)
        return _spawn(argv, env, [*actions, *_copy_actions(copies, _STREAMS)])
    except OSError as error:
        raise StartError(error.errno or errno.EINVAL, "exec") from None
    except ValueError:
        raise StartError(errno.EINVAL, "exec") from None
    finally:
        for one in copies:
            os.close(one)


def _spawn(argv: Sequence[bytes], env: Mapping[bytes, bytes], actions: Sequence[_Action]) -> int:
    return os.posix_spawn(
        find_program(argv[0], env.get(b"PATH", os.fsencode(os.defpath))),
        list(argv),
        dict(env),
        file_actions=actions,
        setsid=True,
        setsigmask=[],
        setsigdef=_RESET_SIGNALS,
    )


def _copy_actions(descriptors: Sequence[int], first: int) -> list[_Action]:
    return [(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(descriptors, first)]


def _terminal_actions(stdin: int, terminal: int) -> list[_Action]:
    """A session leader that opens a terminal gets it as its controlling terminal."""
    return [
        (os.POSIX_SPAWN_OPEN, 1, os.ttyname(terminal), os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        (os.POSIX_SPAWN_DUP2, 1 if os.isatty(stdin) else stdin, 0),
    ]


def _move_up(descriptor: int) -> int:
    """Return a copy above all targets: copying one must not overwrite another that is still needed."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_COPY)


def find_program(name: bytes, path: bytes) -> bytes:
    """Return the path of a program on the child's PATH. Raises OSError like exec."""
    if b"/" in name:
        return name
    error_number = errno.ENOENT
    for folder in path.split(b":"):
        candidate = (folder or b".") + b"/" + name
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):  # noqa: PTH112
            return candidate
        if os.path.isfile(candidate):  # noqa: PTH113
            error_number = errno.EACCES
    raise OSError(error_number, os.strerror(error_number))
