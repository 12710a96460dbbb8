"""The title of a task."""

from __future__ import annotations

from ostler.errors import UsageError

_MAX_TITLE = 200


def normalize_title(text: str) -> str:
    """Return the title on one line; raises UsageError for an empty or a long one."""
    title = " ".join(text.split())
    if not title:
        raise UsageError(
            "a task needs a title", "describe in one line what to do, such as Fix the login redirect"
        )
    if len(title) > _MAX_TITLE:
        raise UsageError(
            f"the title has {len(title)} characters: expected at most {_MAX_TITLE}",
            "put the text into the description: -d or -f",
        )
    return title
