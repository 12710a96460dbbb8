"""Who is told: one entry of [[notify]] as the post sees it."""

from __future__ import annotations

import hashlib
from typing import Protocol

from ostler.config.settings import NotifySettings
from ostler.notify.message import Message


class NotDelivered(Exception):
    """The target did not take the message; the text says why, in a few words and without secrets."""


class OutOfOrder(NotDelivered):
    """It will take nothing before a person has mended something here; there is no point in trying soon."""


class Target(Protocol):
    """One way to deliver; cancelling it ends it at once."""

    async def deliver(self, message: Message, body: bytes) -> None:
        """Return when the target has taken it. Raises NotDelivered otherwise."""
        ...


def name_of(entry: NotifySettings) -> str:
    """By what it reaches, so that letters find their way whatever is changed beside that."""
    text = "\0".join((entry.url, *entry.command))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def place_of(entry: NotifySettings) -> str:
    """As a person is told of it: the program, or the address without what may be a key in it."""
    return entry.command[0] if entry.command else entry.url.split("/")[2].rpartition("@")[2]
