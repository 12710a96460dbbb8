"""What running tasks are doing at this moment, kept up with the feed."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from ostler.store.sqlite import SqliteJournal
from ostler.views.feed import feed_json
from ostler.views.lanes import Lane, Lanes

_FAR = 5000  # lines behind; what runs now may have begun later than that


class Live:
    """Read by any thread; each brings a journal of its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._lanes = Lanes()
        self._position = -1

    def lanes(self, journal: SqliteJournal) -> Mapping[str, Lane]:
        """By task, as far as the feed goes now."""
        with self._lock:
            self._leap(journal)
            while lines := journal.feed(self._position):
                for line in lines:
                    self._lanes.take(feed_json(line), line.at)
                self._position = lines[-1].position
            return dict(self._lanes.lanes)

    def _leap(self, journal: SqliteJournal) -> None:
        """Begin anew where the oldest of what runs now was taken, if that is later."""
        newest = journal.position()
        if self._position >= 0 and newest - self._position < _FAR:
            return
        begun = min(
            (journal.listing.claimed_at(task) for task in journal.listing.running()), default=newest + 1
        )
        if begun - 1 > self._position:
            self._lanes, self._position = Lanes(), begun - 1
