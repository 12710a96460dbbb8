"""How far each reader of the feed has come, and what is still to be told to others; for one thread."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Self

from msgspec import Struct

from ostler.store.codec import encode_ids
from ostler.store.database import Database

LONGEST_WAIT_SECONDS = 3600.0  # between two tries; one that is due later was set by a clock that was wrong

_SELECT_READERS = "SELECT name FROM reader"
_SELECT_POSITION = "SELECT position FROM reader WHERE name = ?"
_DELETE_READERS = "DELETE FROM reader WHERE name NOT IN (SELECT value FROM json_each(?))"
_INSERT_READER = """
    INSERT INTO reader (name, position) SELECT ?, coalesce(max(position), 0) FROM feed WHERE true
    ON CONFLICT DO NOTHING"""
_UPDATE_READER = "UPDATE reader SET position = ? WHERE name = ?"
_INSERT_LETTER = """
    INSERT INTO outbox (position, target, body, due_at, tries, message) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING"""
_SELECT_LETTERS = (
    "SELECT position, target, body, due_at, tries, message FROM outbox ORDER BY position, target"
)
_UPDATE_LETTER = "UPDATE outbox SET due_at = ?, tries = ?, message = ? WHERE position = ? AND target = ?"
_DELETE_LETTER = "DELETE FROM outbox WHERE target = ? AND (position = ? OR due_at IS NULL)"
_DELETE_STRANGERS = "DELETE FROM outbox WHERE target NOT IN (SELECT value FROM json_each(?))"
_COUNT_STRANGERS = "SELECT count(*) FROM outbox WHERE target NOT IN (SELECT value FROM json_each(?))"


class Letter(Struct, frozen=True):
    """What one target is to be told of one event."""

    position: int  # of the event in the feed
    target: str
    body: bytes
    due_at: float | None  # None: given up
    tries: int = 0
    message: str = ""  # why the last try failed

    def is_due(self, now: float) -> bool:
        return self.due_at is not None and not now < self.due_at <= now + LONGEST_WAIT_SECONDS


class Outbox:
    """Every process of a project may open it at the same time. A write that returned is durable."""

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

    def enrol(self, readers: Collection[str], targets: Collection[str]) -> None:
        """These read from now on, or go on where they were, and letters are for these.

        Any other reader is forgotten, and a letter to any other target is dropped.
        """
        known = {name for (name,) in self._db.ask(_SELECT_READERS)}
        theirs = encode_ids(targets)
        if known == set(readers) and not self._db.ask(_COUNT_STRANGERS, theirs)[0][0]:
            return
        with self._db.transaction():
            self._db.run(_DELETE_STRANGERS, theirs)
            self._db.run(_DELETE_READERS, encode_ids(readers))
            for name in sorted(set(readers) - known):  # another run may have been faster
                self._db.run(_INSERT_READER, name)

    def position(self, reader: str) -> int | None:
        """The last line of the feed that this reader is through with; None: it is not enrolled."""
        found = self._db.ask(_SELECT_POSITION, reader)
        return found[0][0] if found else None

    def advance(self, reader: str, position: int, letters: Sequence[Letter]) -> None:
        """A reader has come this far, and found this to be told: both are kept, or neither."""
        with self._db.transaction():
            for one in letters:
                values = (one.body, one.due_at, one.tries, one.message)
                self._db.run(_INSERT_LETTER, one.position, one.target, *values)
            self._db.run(_UPDATE_READER, position, reader)

    # Letters

    def letters(self) -> list[Letter]:
        """All that wait, and those that were given up, in the order of their events."""
        return [Letter(*found) for found in self._db.ask(_SELECT_LETTERS)]

    def keep(self, letter: Letter) -> None:
        """Write down when it is due again, how often it was tried, and what was said."""
        with self._db.transaction():
            values = (letter.due_at, letter.tries, letter.message)
            self._db.run(_UPDATE_LETTER, *values, letter.position, letter.target)

    def remove(self, letter: Letter) -> None:
        """It was delivered; what its target did not take before is forgotten with it."""
        with self._db.transaction():
            self._db.run(_DELETE_LETTER, letter.target, letter.position)
