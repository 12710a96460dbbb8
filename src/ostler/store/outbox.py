"""The cursors of the feed's readers, and the messages that still have to be sent; for one thread."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Self

from msgspec import Struct

from ostler.store.database import Database
from ostler.store.repeat import repeated

FAILPOINTS = ("outbox.write", "outbox.written")
MAX_WAIT_SECONDS = 3600.0  # between two tries; a later time was set by a wrong clock

_SELECT_READERS = "SELECT name FROM reader"
_SELECT_POSITION = "SELECT position FROM reader WHERE name = $1"
_DELETE_READER = "DELETE FROM reader WHERE name = $1"
_INSERT_READER = "INSERT INTO reader (name, position) SELECT $1, coalesce(max(position), 0) FROM feed"
_UPDATE_READER = "UPDATE reader SET position = $1 WHERE name = $2 AND position = $3"
_INSERT_MESSAGE = """
    INSERT INTO outbox (position, target, body, due_at, tries, message) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT DO NOTHING"""
_SELECT_MESSAGES = (
    "SELECT position, target, body, due_at, tries, message FROM outbox ORDER BY position, target"
)
_UPDATE_MESSAGE = (
    "UPDATE outbox SET due_at = $1, tries = $2, message = $3 WHERE position = $4 AND target = $5"
)
_DELETE_MESSAGE = "DELETE FROM outbox WHERE target = $1 AND (position = $2 OR due_at IS NULL)"
_SELECT_TARGETS = "SELECT DISTINCT target FROM outbox"
_DELETE_TARGET = "DELETE FROM outbox WHERE target = $1"


class OutboxMessage(Struct, frozen=True):
    """A message for one target about one event."""

    position: int  # of the event in the feed
    target: str
    body: bytes
    due_at: float | None  # None: given up
    tries: int = 0
    message: str = ""  # why the last try failed

    def is_due(self, now: float) -> bool:
        return self.due_at is not None and not now < self.due_at <= now + MAX_WAIT_SECONDS


class Outbox:
    """All processes of a project can open it at the same time. A write that returned is durable."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    # Readers

    @repeated
    def register(self, readers: Collection[str], targets: Collection[str]) -> None:
        """Set the readers and the targets: new readers start at the end of the feed.

        Other readers, and messages for other targets, are deleted.
        """
        if self._list(_SELECT_READERS) == set(readers) and self._list(_SELECT_TARGETS) <= set(targets):
            return
        with self._db.transaction():
            for (target,) in self._db.run(_SELECT_TARGETS):
                if target not in targets:
                    self._db.run(_DELETE_TARGET, target)
            # Another run may have changed them in the meantime.
            known = {name for (name,) in self._db.run(_SELECT_READERS)}
            for name in known - set(readers):
                self._db.run(_DELETE_READER, name)
            for name in sorted(set(readers) - known):
                self._db.run(_INSERT_READER, name)

    def position(self, reader: str) -> int | None:
        """Return the position of the last line that this reader has handled; None: it is not registered."""
        found = self._db.query(_SELECT_POSITION, reader)
        return found[0][0] if found else None

    @repeated
    def advance(self, reader: str, after: int, position: int, messages: Sequence[OutboxMessage]) -> bool:
        """Move a reader's cursor from `after` and add its messages in one transaction.

        Return False, and write nothing, when the cursor is elsewhere: another process has read these lines.
        """
        with self._db.transaction():
            if not self._db.change(_UPDATE_READER, position, reader, after):
                return False
            for one in messages:
                values = (one.body, one.due_at, one.tries, one.message)
                self._db.run(_INSERT_MESSAGE, one.position, one.target, *values)
            return True

    # Messages

    def messages(self) -> list[OutboxMessage]:
        """Return the messages that wait, and those that were given up, in the order of their events."""
        return [OutboxMessage(*found) for found in self._db.query(_SELECT_MESSAGES)]

    @repeated
    def update(self, message: OutboxMessage) -> None:
        """Record when a message is due again, how often it was tried, and the last error."""
        with self._db.transaction():
            values = (message.due_at, message.tries, message.message)
            self._db.run(_UPDATE_MESSAGE, *values, message.position, message.target)

    @repeated
    def remove(self, message: OutboxMessage) -> None:
        """Delete a delivered message, and those for its target that were given up."""
        with self._db.transaction():
            self._db.run(_DELETE_MESSAGE, message.target, message.position)

    # Internal

    def _list(self, sql: str) -> set[str]:
        return {name for (name,) in self._db.query(sql)}
