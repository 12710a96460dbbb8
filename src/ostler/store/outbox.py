"""The cursors of the feed's readers, and the messages that still have to be sent; for one thread."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Self

from msgspec import Struct

from ostler.store.codec import encode_ids
from ostler.store.database import Database

MAX_WAIT_SECONDS = 3600.0  # between two tries; a later time was set by a wrong clock

_SELECT_READERS = "SELECT name FROM reader"
_SELECT_POSITION = "SELECT position FROM reader WHERE name = ?"
_DELETE_READERS = "DELETE FROM reader WHERE name NOT IN (SELECT value FROM json_each(?))"
_INSERT_READER = """
    INSERT INTO reader (name, position) SELECT ?, coalesce(max(position), 0) FROM feed WHERE true
    ON CONFLICT DO NOTHING"""
_UPDATE_READER = "UPDATE reader SET position = ? WHERE name = ?"
_INSERT_MESSAGE = """
    INSERT INTO outbox (position, target, body, due_at, tries, message) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING"""
_SELECT_MESSAGES = (
    "SELECT position, target, body, due_at, tries, message FROM outbox ORDER BY position, target"
)
_UPDATE_MESSAGE = "UPDATE outbox SET due_at = ?, tries = ?, message = ? WHERE position = ? AND target = ?"
_DELETE_MESSAGE = "DELETE FROM outbox WHERE target = ? AND (position = ? OR due_at IS NULL)"
_DELETE_UNKNOWN_TARGETS = "DELETE FROM outbox WHERE target NOT IN (SELECT value FROM json_each(?))"
_COUNT_UNKNOWN_TARGETS = "SELECT count(*) FROM outbox WHERE target NOT IN (SELECT value FROM json_each(?))"


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

    def __init__(self, path: Path, busy_timeout_seconds: float = 5.0) -> None:
        failpoints = ("outbox.write", "outbox.written")
        self._db = Database(path, busy_timeout_seconds=busy_timeout_seconds, failpoints=failpoints)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    # Readers

    def register(self, readers: Collection[str], targets: Collection[str]) -> None:
        """Set the readers and the targets: new readers start at the end of the feed.

        Other readers, and messages for other targets, are deleted.
        """
        known = {name for (name,) in self._db.query(_SELECT_READERS)}
        targets_json = encode_ids(targets)
        if known == set(readers) and not self._db.query(_COUNT_UNKNOWN_TARGETS, targets_json)[0][0]:
            return
        with self._db.transaction():
            self._db.run(_DELETE_UNKNOWN_TARGETS, targets_json)
            self._db.run(_DELETE_READERS, encode_ids(readers))
            # Another run may have added them in the meantime.
            for name in sorted(set(readers) - known):
                self._db.run(_INSERT_READER, name)

    def position(self, reader: str) -> int | None:
        """Return the position of the last line that this reader has handled; None: it is not registered."""
        found = self._db.query(_SELECT_POSITION, reader)
        return found[0][0] if found else None

    def advance(self, reader: str, position: int, messages: Sequence[OutboxMessage]) -> None:
        """Move a reader's cursor and add its messages in one transaction."""
        with self._db.transaction():
            for one in messages:
                values = (one.body, one.due_at, one.tries, one.message)
                self._db.run(_INSERT_MESSAGE, one.position, one.target, *values)
            self._db.run(_UPDATE_READER, position, reader)

    # Messages

    def messages(self) -> list[OutboxMessage]:
        """Return the messages that wait, and those that were given up, in the order of their events."""
        return [OutboxMessage(*found) for found in self._db.query(_SELECT_MESSAGES)]

    def update(self, message: OutboxMessage) -> None:
        """Record when a message is due again, how often it was tried, and the last error."""
        with self._db.transaction():
            values = (message.due_at, message.tries, message.message)
            self._db.run(_UPDATE_MESSAGE, *values, message.position, message.target)

    def remove(self, message: OutboxMessage) -> None:
        """Delete a delivered message, and those for its target that were given up."""
        with self._db.transaction():
            self._db.run(_DELETE_MESSAGE, message.target, message.position)
