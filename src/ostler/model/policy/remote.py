"""A git remote."""

from __future__ import annotations

from msgspec import Struct


class Remote(Struct, frozen=True, omit_defaults=True):
    """A remote's name and addresses."""

    name: str
    url: str
    push_url: str = ""  # empty: the same as url

    @property
    def destination(self) -> Remote:
        """The remote with its push URL as URL."""
        return Remote(self.name, self.push_url or self.url)
