"""Logins of subscriptions: only the agent's own program renews a token, outside the sandbox.

Ostler never does: a renewal replaces the refresh token, and the user would be logged out.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping

from ostler.errors import Code, OstlerError
from ostler.executors.discover import AgentProgram
from ostler.executors.sandboxed.keys import ReadHeaders
from ostler.executors.sandboxed.needs import Login, Outside
from ostler.process.tool import ToolTimeout, run_tool

_SECONDS = 60.0
_MARGIN_SECONDS = 300.0  # a token that ends during the first answer is renewed too
_PAUSE_SECONDS = 20.0  # between two attempts to renew
_LOCK = threading.Lock()
_TRIED: dict[str, float] = {}  # program -> when it was started last


def require_login(login: Login, program: AgentProgram, path: str, outside: Outside) -> None:
    """Let the agent's own program renew a token that has ended; raise AUTH_FAILED if it does not."""
    with _LOCK:
        if _has_ended(login, _MARGIN_SECONDS) and login.refresh and _may_try(path):
            _run_outside((path, *login.refresh), outside)
    if _has_ended(login, 0.0):
        message = f"the login of {program.name} has ended, and {program.program} did not renew it"
        raise OstlerError(Code.AUTH_FAILED, message, f"log in again: {program.login_command}")


def renew_before(
    read: ReadHeaders, login: Login, program: AgentProgram, path: str, outside: Outside
) -> ReadHeaders:
    """Return a function that renews a token which ended during an attempt before it reads the headers."""

    def read_headers() -> Mapping[str, str]:
        require_login(login, program, path, outside)
        return read()

    return read_headers


def _has_ended(login: Login, margin: float) -> bool:
    end = login.expires_at()
    return end is not None and end - margin <= time.time()


def _may_try(path: str) -> bool:
    """Return whether the program was not started for this a moment ago, for another task or request."""
    now = time.monotonic()
    is_due = now - _TRIED.get(path, -_PAUSE_SECONDS) >= _PAUSE_SECONDS
    if is_due:
        _TRIED[path] = now
    return is_due


def _run_outside(argv: tuple[str, ...], outside: Outside) -> None:
    """Run a command of the agent in an empty directory, with the environment of the user."""
    with tempfile.TemporaryDirectory(prefix="ostler-login-") as directory:
        try:
            run_tool([*argv], env=dict(outside.env), cwd=directory, timeout_seconds=_SECONDS)
        except (OSError, ToolTimeout):
            return  # the login is read again, which shows the failure
