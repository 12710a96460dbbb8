"""Names of files in messages."""

from __future__ import annotations

from collections.abc import Sequence


def format_files(files: Sequence[str], limit: int = 5) -> str:
    """Return the names for a message, at most `limit` of them."""
    more = f" and {len(files) - limit} more" if len(files) > limit else ""
    return ", ".join(files[:limit]) + more
