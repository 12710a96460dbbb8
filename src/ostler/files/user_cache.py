"""The directory for caches of the user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def find_user_cache(environ: Mapping[str, str]) -> Path | None:
    """Return $XDG_CACHE_HOME or ~/.cache; None without a home directory."""
    # By the XDG specification a relative path is ignored.
    cache, home = environ.get("XDG_CACHE_HOME", ""), environ.get("HOME", "")
    if cache.startswith("/"):
        return Path(cache)
    return Path(home, ".cache") if home.startswith("/") else None
