"""Where a repository is published, as a plain value."""

from __future__ import annotations

from msgspec import Struct


class Remote(Struct, frozen=True, omit_defaults=True):
    """A remote's name and addresses."""

    name: str
    url: str
    push_url: str = ""  # empty: the same

    @property
    def destination(self) -> Remote:
        """The same remote, looked at where it is pushed to."""
        return Remote(self.name, self.push_url or self.url)
