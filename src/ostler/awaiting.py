"""Awaits what a function of another program returned: some are coroutines, some are not."""

from __future__ import annotations

from inspect import isawaitable


async def await_if_needed(value: object) -> object:
    """Return the value, awaited when it can be."""
    return await value if isawaitable(value) else value
