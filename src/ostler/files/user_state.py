"""The directory for state of the user that all projects share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def find_user_state(environ: Mapping[str, str]) -> Path | None:
    """Return $XDG_STATE_HOME/ostler or ~/.local/state/ostler; None without a home directory."""
    # By the XDG specification a relative path is ignored.
    state, home = environ.get("XDG_STATE_HOME", ""), environ.get("HOME", "")
    if state.startswith("/"):
        return Path(state, "ostler")
    return Path(home, ".local/state/ostler") if home.startswith("/") else None
