"""Token counts and costs. An unknown cost is None, never 0."""

from __future__ import annotations

from msgspec import Struct


class Usage(Struct, frozen=True):
    """Token counts of one attempt, or of several."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    def since(self, before: Usage) -> Usage:
        """Return the growth of a running total; a smaller total belongs to a new session."""
        if self.total < before.total:
            return self
        return Usage(
            self.input_tokens - before.input_tokens,
            self.output_tokens - before.output_tokens,
            self.cache_read_tokens - before.cache_read_tokens,
            self.cache_write_tokens - before.cache_write_tokens,
        )

    def beyond(self, reported: Usage) -> Usage:
        """Return what is not yet reported of each kind of token; never less than nothing."""
        return Usage(
            max(0, self.input_tokens - reported.input_tokens),
            max(0, self.output_tokens - reported.output_tokens),
            max(0, self.cache_read_tokens - reported.cache_read_tokens),
            max(0, self.cache_write_tokens - reported.cache_write_tokens),
        )

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens


def add_cost(left: float | None, right: float | None) -> float | None:
    """Return the sum of two costs; an unknown one counts as nothing."""
    if left is None or right is None:
        return right if left is None else left
    return left + right
