"""The directory for state of the user that all projects share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ostler.errors import UsageError


def find_user_state(environ: Mapping[str, str]) -> Path | None:
    """Return $XDG_STATE_HOME/ostler or ~/.local/state/ostler; None without a home directory."""
    # By the XDG specification a relative path is ignored.
    state, home = environ.get("XDG_STATE_HOME", ""), environ.get("HOME", "")
    if state.startswith("/"):
        return Path(state, "ostler")
    return Path(home, ".local/state/ostler") if home.startswith("/") else None


def require_user_state(environ: Mapping[str, str]) -> Path:
    """Return the directory; raise UsageError without a home directory."""
    state = find_user_state(environ)
    if state is None:
        raise UsageError("no home directory for the state of all projects", "set HOME or XDG_STATE_HOME")
    return state
