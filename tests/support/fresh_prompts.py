"""The prompt of a new session as executors get it: a function that builds it."""

from __future__ import annotations

from ostler.model.call import FreshPrompt


def fresh(text: str) -> FreshPrompt:
    """Return a function for this prompt."""

    async def build() -> str:
        return text

    return build
