"""How a command is started in isolation."""

from __future__ import annotations

import shlex
from pathlib import Path

from msgspec import Struct

_STARTED = "started"  # in the private directory of a checkout


class Launch(Struct, frozen=True):
    """Arguments before the command, variables that are changed, and shell lines that run first."""

    prefix: tuple[str, ...] = ()
    env: dict[str, str] = {}
    prelude: str = ""


def record_start(private: Path) -> str:
    """Return shell lines that record that the isolation was set up and the command started."""
    return f": > {shlex.quote(str(private / _STARTED))}\n"


def was_started(private: Path) -> bool:
    """Return whether the command of the last launch started, and forget it."""
    marker = private / _STARTED
    found = marker.exists()
    marker.unlink(missing_ok=True)
    return found
