"""The schedules of a project as time goes by; files that change are read again."""

from __future__ import annotations

from pathlib import Path

from ostler.errors import Code, OstlerError
from ostler.project.schedules import Scheduled, find_schedules, schedule_files
from ostler.sources.cron import newest_time, next_time

_MINUTE = 60.0


class Timetable:
    """Knows what came due since it was last asked; what came due before it was made is not made up for."""

    def __init__(self, root: Path, now: float) -> None:
        self._root = root
        self._until = now // _MINUTE * _MINUTE - 1  # the minute that we are in counts
        self._stamp: object = None
        self._told: frozenset[str] = frozenset()
        self._found: list[Scheduled] = []
        if mistakes := self.read():
            raise OstlerError(Code.CONFIG_INVALID, "\n".join(mistakes), "mend them, then try again")

    def read(self) -> list[str]:
        """Look at the files again if they changed; the mistakes that were not there before."""
        if (stamp := self._stamp_now()) == self._stamp:
            return []
        self._stamp = stamp
        self._found, mistakes = find_schedules(self._root)
        new = [mistake for mistake in mistakes if mistake not in self._told]
        self._told = frozenset(mistakes)
        return new

    def due(self, now: float) -> list[tuple[Scheduled, float]]:
        """What came due, each with its newest time: a machine that slept does not do it all at once."""
        after, self._until = min(self._until, now), now
        times = [(one, newest_time(one.schedule, after, now)) for one in self._found]
        return [(one, at) for one, at in times if at is not None]

    def coming(self, now: float) -> list[tuple[Scheduled, float]]:
        """When each one comes next, the first one first."""
        times = [(one, next_time(one.schedule, now)) for one in self._found]
        return sorted(times, key=lambda pair: (pair[1], pair[0].name))

    def _stamp_now(self) -> list[tuple[Path, int, int]]:
        found: list[tuple[Path, int, int]] = []
        for file in schedule_files(self._root):
            try:
                stat = file.stat()
            except OSError:
                continue  # gone meanwhile
            found.append((file, stat.st_mtime_ns, stat.st_size))
        return found
