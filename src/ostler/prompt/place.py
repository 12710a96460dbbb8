"""Where an agent works."""

from __future__ import annotations

from msgspec import Struct


class Place(Struct, frozen=True):
    """Where the agent works, as it is told."""

    directory: str
    branch: str | None = None
    target: str | None = None  # the branch that the work starts from
