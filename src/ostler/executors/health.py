"""Checks an installed agent program: its version with `--version`, and its login; no model is called."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from ostler.executors.discover import AgentProgram
from ostler.process.tool import ToolResult, ToolTimeout, run_tool
from ostler.text import describe_os_error, first_line

PROBE_SECONDS = 30.0  # a Node program takes several seconds on a busy machine
CACHE_SECONDS = 60.0
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)*(?:-[0-9A-Za-z.]*[0-9A-Za-z])?)")


class HealthState(StrEnum):
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"  # it starts, but fails or prints no version
    NOT_FOUND = "not_found"
    TIMEOUT = "timeout"  # slow, not broken: a call may still work
    ERROR = "error"  # the system could not start it


class Health(Struct, frozen=True):
    state: HealthState
    version: str = ""  # only the number, such as 2.1.325
    detail: str = ""  # the reason, when the state is not healthy


Probe = Callable[[str], Health]
"""Returns the health of the program at a path."""


def probe_program(
    path: str | None,
    env: Mapping[str, str] | None = None,
    seconds: float = PROBE_SECONDS,
    is_stopped: Callable[[], bool] | None = None,
) -> Health:
    """Run a program with --version and return its health; never raises. `is_stopped` ends it early."""
    if not path:
        return Health(HealthState.NOT_FOUND, detail="not found")
    try:
        environ = dict(os.environ if env is None else env)
        return _evaluate_version_output(
            run_tool(
                [path, "--version"], env=environ, cwd="/", timeout_seconds=seconds, is_stopped=is_stopped
            )
        )
    except ToolTimeout:
        return Health(HealthState.TIMEOUT, detail=f"no answer to --version within {seconds:g} s")
    except FileNotFoundError as error:
        return Health(HealthState.NOT_FOUND, detail=_not_found_detail(path, error))
    except OSError as error:
        return Health(HealthState.ERROR, detail=f"cannot be started: {describe_os_error(error)}")


class CachedProbe:
    """Probes a program at most once in 60 s, and keeps the result in memory.

    Results are not kept in a file, because a change cannot be detected reliably: npm gives the files of all
    versions the same date, and copilot loads newer versions of itself from another directory.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, probe: Probe = probe_program) -> None:
        self._now = now
        self._probe = probe
        self._results: dict[tuple[str, object], tuple[float, Health]] = {}

    def __call__(self, path: str) -> Health:
        """Return the health of the program; a replaced file is probed again."""
        key = (path, _identity(path))
        at, health = self._results.get(key, (0.0, None))
        if health is None or self._now() - at >= CACHE_SECONDS:
            health = self._probe(path)
            self._results[key] = (self._now(), health)
        return health


def _evaluate_version_output(done: ToolResult) -> Health:
    output = (done.stdout or done.stderr).decode("utf-8", "replace").strip()
    found = _VERSION.search(output)
    if done.status != 0:
        reason = first_line(done.stderr.decode("utf-8", "replace")) or first_line(output) or "no reason given"
        return Health(HealthState.UNHEALTHY, detail=f"--version exits with {done.status}: {reason}")
    if found is None:
        return Health(
            HealthState.UNHEALTHY, detail=f"--version prints no version: {first_line(output) or 'nothing'}"
        )
    return Health(HealthState.HEALTHY, found[1])


def _not_found_detail(path: str, error: FileNotFoundError) -> str:
    # A script without its interpreter gives the same error as a missing script.
    if Path(path).exists():
        return "the interpreter that its first line names was not found"
    return describe_os_error(error)


def _identity(path: str) -> object:
    # Two versions of a file may have the same date and size.
    try:
        info = Path(path).stat()
    except OSError:
        return None
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


CHECK_SECONDS = 5.0
_LOGGED_OUT = (b'"loggedin":false', b"notloggedin")
# Keys that the login check of the program ignores.
_KEYS = {"codex": ("OPENAI_API_KEY", "CODEX_API_KEY")}


class LoginStatus(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"  # the program has no check, or the check failed


def check_login(
    program: AgentProgram,
    path: str,
    environ: Mapping[str, str],
    is_stopped: Callable[[], bool] | None = None,
) -> LoginStatus:
    """Return whether someone is logged in, as the program at `path` reports it; never raises."""
    if not program.login_check_args or any(environ.get(name) for name in _KEYS.get(program.name, ())):
        return LoginStatus.UNKNOWN
    try:
        argv = [path, *program.login_check_args]
        done = run_tool(
            argv, env=dict(environ), cwd="/", timeout_seconds=CHECK_SECONDS, is_stopped=is_stopped
        )
    except (ToolTimeout, OSError):
        return LoginStatus.UNKNOWN
    output = b"".join((done.stdout + done.stderr).lower().split())
    if any(text in output for text in _LOGGED_OUT):
        return LoginStatus.NO
    return LoginStatus.YES if done.status == 0 else LoginStatus.UNKNOWN
