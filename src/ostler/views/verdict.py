"""The verdict of a gate in words: the same on every screen and in pull requests."""

from __future__ import annotations

from ostler.model.state import BY_TIMEOUT


def format_verdict(verdict: str, by: str | None = None, original: str | None = None) -> str:
    """Return the verdict; one that replaces another with the person and what the gate decided."""
    words = verdict.replace("_", " ")
    if by == BY_TIMEOUT:
        return f"{words} by {by}"
    if verdict not in ("overruled", "skipped") or (verdict == "skipped" and original is None):
        return words
    return f"{words} by {by or 'a person'} (was: {(original or 'unknown').replace('_', ' ')})"
