"""Named points where a test makes this process fail; inactive unless OSTLER_FAILPOINT is set.

OSTLER_FAILPOINT=journal.append:kill:3      kill this process when it reaches the point for the third time
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable

from ostler.errors import UsageError

_SLEEP_SECONDS = 60.0  # long enough for a test to inspect and kill the process


def _kill() -> None:
    import signal  # noqa: PLC0415  (every command imports this module, and none is ever killed here)

    os.kill(os.getpid(), signal.SIGKILL)


def _exit() -> None:
    os._exit(1)


def _refuse_space() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _fail_io() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def _sleep() -> None:
    time.sleep(_SLEEP_SECONDS)


_ACTIONS: dict[str, Callable[[], None]] = {
    "kill": _kill,
    "exit": _exit,
    "enospc": _refuse_space,
    "eio": _fail_io,
    "sleep": _sleep,
}


class _Point:
    def __init__(self, name: str, action: Callable[[], None], countdown: int) -> None:
        self.name = name
        self._action = action
        self._countdown = countdown

    def reach(self) -> None:
        self._countdown -= 1
        if self._countdown == 0:
            self._action()


_armed: _Point | None = None


def reach(name: str) -> None:
    """Mark that execution reached a point; fails when a test armed it."""
    if _armed is not None and _armed.name == name:
        _armed.reach()


def arm(spec: str) -> None:
    """Arm one failpoint from `name:action[:n]`; an empty text disarms it."""
    global _armed  # noqa: PLW0603  (one process has one failpoint)
    _armed = _parse(spec) if spec else None


def _parse(spec: str) -> _Point:
    name, _, rest = spec.partition(":")
    action, _, count = rest.partition(":")
    if not name or action not in _ACTIONS or not (count or "1").isdecimal():
        raise UsageError(
            f"invalid OSTLER_FAILPOINT {spec!r}: expected name:action:n", f"actions: {', '.join(_ACTIONS)}"
        )
    return _Point(name, _ACTIONS[action], int(count or "1"))


arm(os.environ.get("OSTLER_FAILPOINT", ""))
