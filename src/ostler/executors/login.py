"""Whether someone is logged in to an agent, as far as its program says; no model is asked."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from ostler.executors.known import KnownProgram
from ostler.process.tool import ToolTimeout, run_tool

CHECK_SECONDS = 5.0
_NO = (b'"loggedin":false', b"notloggedin")
_KEYS = {"codex": ("OPENAI_API_KEY", "CODEX_API_KEY")}  # which its check passes over


class Login(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"  # it cannot be asked, or did not answer


def check_login(known: KnownProgram, path: str, environ: Mapping[str, str]) -> Login:
    """Ask the program at `path`; never raises."""
    if not known.login_check or any(environ.get(name) for name in _KEYS.get(known.name, ())):
        return Login.UNKNOWN
    try:
        asked = [path, *known.login_check]
        done = run_tool(asked, env=dict(environ), cwd="/", timeout_seconds=CHECK_SECONDS)
    except (ToolTimeout, OSError):
        return Login.UNKNOWN
    said = b"".join((done.stdout + done.stderr).lower().split())
    if any(word in said for word in _NO):
        return Login.NO
    return Login.YES if done.status == 0 else Login.UNKNOWN
