"""A worker: runs what is due, begins what is scheduled, and waits for more until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ostler.clock import Clock, SystemClock
from ostler.engine.schedule import held_back, takeable
from ostler.errors import OstlerError
from ostler.files.failpoint import reach
from ostler.model.outcome import Outcome
from ostler.project.ostler import Ostler
from ostler.project.preflight import ready_tasks
from ostler.project.schedules import begin
from ostler.project.timetable import Timetable

_LOOK_SECONDS = 1.0
_REST_SECONDS = 30.0  # after an agent could not be used, unless someone writes


class Worker:
    """One project's; several may work on it at once, on one machine."""

    def __init__(self, ostler: Ostler, tell: Callable[[str], None], clock: Clock | None = None) -> None:
        self.project = ostler.project
        self._ostler = ostler
        self._tell = tell
        self._clock = clock or SystemClock()
        self.timetable = Timetable(self.project.layout.root, self._clock.now())
        self._stopped = asyncio.Event()
        self._seen = -1  # how far the feed was when all of it had been looked at
        self._said: set[str] = set()  # what stands in the way, and need not be told again
        self._rests_until = 0.0

    def stop(self) -> None:
        """Bring what runs to a resumable rest; `run` then returns."""
        self._stopped.set()
        self._ostler.stop()

    def troubles(self) -> tuple[str, ...]:
        """Why tasks wait that could be run otherwise; asked by any thread."""
        return tuple(sorted(self._said.copy()))

    async def flush(self) -> None:
        """Wait until everything said so far is in the journal."""
        await self._ostler.flush()

    async def run_once(self) -> list[Outcome]:
        """Begin what this minute has, and run what is due; nothing is waited for."""
        if self._stopped.is_set():
            return []
        self.begin_due()
        return await self._run_due(wait=False)

    async def run(self) -> list[Outcome]:
        """Go on until it is told to stop."""
        self._ostler.tell_others()
        timekeeper = asyncio.create_task(self._keep_time())
        timekeeper.add_done_callback(lambda _: self.stop())  # an error in it is nobody's to see otherwise
        try:
            while not self._stopped.is_set():
                if self._is_something_due():
                    await self._try_due()
                await self._pause()
        finally:
            timekeeper.cancel()
            await asyncio.wait({timekeeper})
        if not timekeeper.cancelled():
            timekeeper.result()
        return []

    def begin_due(self) -> None:
        """Add the tasks of every schedule that came due."""
        for mistake in self.timetable.read():
            self._tell(mistake)
        for scheduled, at in self.timetable.due(self._clock.now()):
            try:
                tasks = begin(self.project, scheduled, at)
            except OstlerError as error:
                self._tell(f"{scheduled.name} could not begin: {error.message}")
                continue
            reach("schedule.begun")
            if tasks:
                self._tell(f"{scheduled.name}: {', '.join(tasks)}")

    async def _keep_time(self) -> None:
        while True:
            self.begin_due()
            await self._clock.sleep(_LOOK_SECONDS)

    async def _try_due(self) -> None:
        """Run what is due; where agents are missing, look for them again only after a while."""
        try:
            await self._run_due(wait=True)
        except OstlerError as error:
            if self._stopped.is_set():
                raise
            self._tell_once(f"{error.message}  Next: {error.hint}" if error.hint else error.message)
            self._seen = self.project.journal.position()
        self._rests_until = self._clock.monotonic() + (_REST_SECONDS if self._said else 0.0)

    async def _run_due(self, *, wait: bool) -> list[Outcome]:
        ready, waiting = ready_tasks(self.project)
        if not waiting:
            self._said.clear()
        for sentence in waiting:
            self._tell_once(sentence)
        outcomes = await self._ostler.run_all(ready if waiting else None, wait=wait and not waiting)
        await self._ostler.flush()
        self._seen = self.project.journal.position()
        return outcomes

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._tell(sentence)

    def _is_something_due(self) -> bool:
        """Whether anyone wrote since the last run, or time alone made a task ready."""
        written = self.project.journal.position() != self._seen
        if not written and self._clock.monotonic() < self._rests_until:
            return False
        rows, now = self.project.journal.open_rows(), self._clock.now()
        if written and rows:
            return True
        due = [row for row in rows if takeable(row, now)]
        standing = self.project.journal.statuses({one for row in due for one in row.after})
        return any(not held_back(row, standing) for row in due)

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._stopped.wait(), _LOOK_SECONDS)
        except TimeoutError:
            return
