"""The base of events and notices."""

from __future__ import annotations

from msgspec import Struct


class Body(Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of events and notices; the tag is the public event type."""
