"""How a command is started in isolation."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from msgspec import Struct

_FOLDER, _STARTED = "started", "yes"  # in the private directory of a checkout


class Launch(Struct, frozen=True):
    """Arguments before the command, variables that are changed, and shell lines that run first."""

    prefix: tuple[str, ...] = ()
    env: dict[str, str] = {}
    prelude: str = ""


def find_start_folder(private: Path) -> Path:
    """Return the directory in which the command records its start; it can put anything there."""
    return private / _FOLDER


def record_start(private: Path) -> str:
    """Return shell lines that record that the isolation was set up and the command started."""
    folder = find_start_folder(private)
    _move_aside(folder)
    folder.mkdir(mode=0o700)
    return f": > {shlex.quote(str(folder / _STARTED))}\n"


def was_started(private: Path) -> bool:
    """Return whether the command of the last launch started, and forget it."""
    folder = find_start_folder(private)
    found = os.path.lexists(folder / _STARTED)
    _move_aside(folder)
    return found


def _move_aside(folder: Path) -> None:
    """Move the directory, which can contain anything; it is deleted with the checkout."""
    if os.path.lexists(folder):
        folder.rename(folder.with_name(f"{folder.name}-{os.urandom(8).hex()}"))
