"""Mends the cache of opencode's plugins (C47): after an interrupted install opencode starts no more."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from ostler.errors import OstlerError
from ostler.files.paths import open_beneath

_BROKEN = re.compile(
    r"ENOENT.*reading.*cache/opencode|ENOENT.*cache/opencode/node_modules|BuildMessage:.*ENOENT.*opencode"
)
_PARTS = ("node_modules", "bun.lock")  # made anew at the next start


def mend_cache(env: Mapping[str, str], said: str) -> str:
    """Remove what opencode says it cannot read, in the cache of this environment; a sentence if it did."""
    found = _BROKEN.search(said)
    home = _cache_home(env)
    if found is None or home is None:
        return ""
    removed = _remove(home)
    if not removed:
        return ""
    return f"opencode's cache was broken; {' and '.join(removed)} removed from {home / 'opencode'}"


def _cache_home(env: Mapping[str, str]) -> Path | None:
    """As the child sees it; a relative path is none, by the XDG rules."""
    cache, home = env.get("XDG_CACHE_HOME", ""), env.get("HOME", "")
    if cache.startswith("/"):
        return Path(cache)
    return Path(home, ".cache") if home.startswith("/") else None


def _remove(home: Path) -> list[str]:
    """What could be removed; a link is removed itself, and never followed."""
    try:
        place = open_beneath(home, "opencode", os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, OstlerError):
        return []
    try:
        return [name for name in _PARTS if _is_gone(name, place)]
    finally:
        os.close(place)


def _is_gone(name: str, place: int) -> bool:
    """Set aside at once, so that an opencode that starts meanwhile finds nothing rather than half of it."""
    aside = f".{name}-{os.urandom(8).hex()}"
    try:
        os.rename(name, aside, src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        return False
    try:
        os.unlink(aside, dir_fd=place)
    except OSError:  # a directory
        shutil.rmtree(aside, ignore_errors=True, dir_fd=place)
    return True
