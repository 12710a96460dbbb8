"""Whether an agent's program answers, and with which version: `--version`, and 5 s to say it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from ostler.executors.wire import one_line
from ostler.process.tool import Finished, ToolTimeout, run_tool

PROBE_SECONDS = 5.0
FRESH_SECONDS = 60.0
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)*(?:-[0-9A-Za-z.]*[0-9A-Za-z])?)")


class State(StrEnum):
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"  # it starts, and then fails or names no version
    NOT_FOUND = "not_found"
    TIMEOUT = "timeout"
    ERROR = "error"  # the system would not start it


class Health(Struct, frozen=True):
    state: State
    version: str = ""  # the number alone: 2.1.325
    detail: str = ""  # what was seen where the state is not healthy


Ask = Callable[[str], Health]
"""Probes the program at a path."""


def probe(path: str | None, env: Mapping[str, str] | None = None, seconds: float = PROBE_SECONDS) -> Health:
    """Ask a program for its version; never raises."""
    if not path:
        return Health(State.NOT_FOUND, detail="not found")
    try:
        environ = dict(os.environ if env is None else env)
        return _judge(run_tool([path, "--version"], env=environ, cwd="/", timeout_seconds=seconds))
    except ToolTimeout:
        return Health(State.TIMEOUT, detail=f"no answer to --version within {seconds:g} s")
    except FileNotFoundError as error:
        return Health(State.NOT_FOUND, detail=_missing(path, error))
    except OSError as error:
        return Health(State.ERROR, detail=f"cannot be started: {(error.strerror or str(error)).lower()}")


class HealthProbe:
    """Probes a program at most once in 60 s; one object for as long as a command lives, never a file.

    A file could not know when it is wrong: npm gives every version's files the same date, and some programs
    (copilot) load a newer one of themselves from elsewhere.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, ask: Ask = probe) -> None:
        self._now = now
        self._ask = ask
        self._known: dict[tuple[str, object], tuple[float, Health]] = {}

    def __call__(self, path: str) -> Health:
        """The program's health, as it was found within the last minute; a replaced file is asked anew."""
        key = (path, _identity(path))
        at, health = self._known.get(key, (0.0, None))
        if health is None or self._now() - at >= FRESH_SECONDS:
            health = self._ask(path)
            self._known[key] = (self._now(), health)
        return health


def _judge(done: Finished) -> Health:
    said = (done.stdout or done.stderr).decode("utf-8", "replace").strip()
    found = _VERSION.search(said)
    if done.status != 0:
        reason = one_line(done.stderr.decode("utf-8", "replace")) or one_line(said) or "no reason given"
        return Health(State.UNHEALTHY, detail=f"--version exits with {done.status}: {reason}")
    if found is None:
        return Health(State.UNHEALTHY, detail=f"--version names no version: {one_line(said) or 'nothing'}")
    return Health(State.HEALTHY, found[1])


def _missing(path: str, error: FileNotFoundError) -> str:
    """A script whose interpreter is gone gives the same error as a script that is gone."""
    if Path(path).exists():
        return "the interpreter that its first line names is not there"
    return (error.strerror or "not found").lower()


def _identity(path: str) -> object:
    """What differs when the file at a path is another one, also where its date and size are the same."""
    try:
        seen = Path(path).stat()
    except OSError:
        return None
    return (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
