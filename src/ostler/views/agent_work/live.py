"""The activity of running tasks, kept up to date with the feed."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from ostler.store.sql_journal import SqlJournal
from ostler.views.feed import feed_json
from ostler.views.lists.lanes import Lane, Lanes

_FAR = 5000  # lines behind the feed; the claims of running tasks may be newer


class Live:
    """Can be used by any thread; each one passes its own journal."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._lanes = Lanes()
        self._position = -1

    def lanes(self, journal: SqlJournal) -> Mapping[str, Lane]:
        """Return the running tasks by id, after reading the feed to its end."""
        with self._lock:
            self._skip_old_lines(journal)
            while lines := journal.feed(self._position):
                for line in lines:
                    self._lanes.apply(feed_json(line), line.at)
                self._position = lines[-1].position
            return dict(self._lanes.lanes)

    def _skip_old_lines(self, journal: SqlJournal) -> None:
        """Restart at the oldest claim of a running task if the feed is far ahead."""
        newest = journal.position()
        if self._position >= 0 and newest - self._position < _FAR:
            return
        begun = min(
            (journal.listing.claim_position(task) for task in journal.listing.running()), default=newest + 1
        )
        if begun - 1 > self._position:
            self._lanes, self._position = Lanes(), begun - 1
