"""Starting one program in its own session, with exactly the descriptors and environment it is given."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence

_Action = tuple[int, int, int] | tuple[int, int, str, int, int]
_DEFAULTED = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


class StartFailed(Exception):
    """The operating system said no, at this step."""

    def __init__(self, number: int, step: str) -> None:
        super().__init__(step)
        self.errno = number
        self.step = step


def enter(cwd: bytes) -> None:
    """Make this the directory that the program will start in."""
    try:
        os.chdir(cwd)
    except OSError as error:
        raise StartFailed(error.errno or errno.EINVAL, "chdir") from None


def start_program(
    argv: Sequence[bytes], env: Mapping[bytes, bytes], descriptors: Sequence[int], *, pty: bool
) -> int:
    """Start it in this process's directory and return its pid."""
    try:
        return _spawn(argv, env, _terminal(descriptors[0]) if pty else _pipes(descriptors))
    except OSError as error:
        raise StartFailed(error.errno or errno.EINVAL, "exec") from None
    except ValueError:
        raise StartFailed(errno.EINVAL, "exec") from None


def _spawn(argv: Sequence[bytes], env: Mapping[bytes, bytes], actions: Sequence[_Action]) -> int:
    return os.posix_spawn(
        find_program(argv[0], env.get(b"PATH", os.fsencode(os.defpath))),
        list(argv),
        dict(env),
        file_actions=actions,
        setsid=True,
        setsigmask=[],
        setsigdef=_DEFAULTED,
    )


def _pipes(descriptors: Sequence[int]) -> list[_Action]:
    return [(os.POSIX_SPAWN_DUP2, given, number) for number, given in enumerate(descriptors)]


def _terminal(descriptor: int) -> list[_Action]:
    """A session leader that opens a terminal gets it as its controlling one."""
    return [
        (os.POSIX_SPAWN_OPEN, 0, os.ttyname(descriptor), os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
    ]


def find_program(name: bytes, path: bytes) -> bytes:
    """Where a program is, by the child's own PATH. Raises OSError as exec would."""
    if b"/" in name:
        return name
    refused = errno.ENOENT
    for folder in path.split(b":"):
        candidate = (folder or b".") + b"/" + name
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):  # noqa: PTH112
            return candidate
        if os.path.isfile(candidate):  # noqa: PTH113
            refused = errno.EACCES
    raise OSError(refused, os.strerror(refused))
