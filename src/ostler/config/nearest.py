"""The setting that a person probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, if any is."""
    from difflib import get_close_matches  # noqa: PLC0415  (only a mistake needs it)

    return next(iter(get_close_matches(name, list(known), n=1)), None)


def unknown(suggestion: str | None) -> str:
    return f"unknown setting; did you mean {suggestion}?" if suggestion else "unknown setting"
