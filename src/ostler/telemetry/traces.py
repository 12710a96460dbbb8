"""Follows the feed, and sends each span when it is over; the run does not know of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ostler.clock import Clock
from ostler.errors import OstlerError
from ostler.files.failpoint import reach
from ostler.files.layout import Layout
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.store.follower import Follower, NotTaken
from ostler.store.outbox import Letter
from ostler.store.sqlite import SqliteJournal
from ostler.telemetry.line import Line, read_line
from ostler.telemetry.span import Span
from ostler.telemetry.tree import CLOSING, spans_of

if TYPE_CHECKING:
    from ostler.telemetry.otlp import Collector

READER = "telemetry"
_LOOK_SECONDS = 2.0
_TROUBLE_SECONDS = 10.0


def is_installed() -> bool:
    """Whether the extra `otel` is there."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


class Traces:
    """One run's; of several on a project one sends at a time, and another goes on when it ends."""

    def __init__(self, endpoint: str, layout: Layout, clock: Clock) -> None:
        self._endpoint = endpoint
        self._project = layout.root.name
        self._clock = clock
        self._follower = Follower(READER, self._take, layout)
        self._collector: Collector | None = None

    async def run(self) -> None:
        """Go on until it is cancelled."""
        while True:
            try:
                await self._follower.catch_up()
                pause = _LOOK_SECONDS
            except (NotTaken, OstlerError):
                pause = _TROUBLE_SECONDS
            await self._clock.sleep(pause)

    async def finish(self, seconds: float) -> str:
        """Send the rest in this time; a sentence when the collector did not take it, else empty."""
        try:
            async with asyncio.timeout(seconds):
                await self._follower.catch_up()
        except (NotTaken, TimeoutError):
            return "the collector of telemetry does not take traces; the next run sends them"
        finally:
            if self._collector is not None:
                self._collector.close()
            await self._follower.close()
        return ""

    # In the follower's thread

    def _take(self, journal: SqliteJournal, lines: Sequence[FeedLine]) -> list[Letter]:
        new = [read_line(line) for line in lines]
        spans = [(task, span) for task in _touched(new) for span in _ended(journal, task, new)]
        if not self._open(journal.store_id).send(spans, new):
            raise NotTaken
        reach("telemetry.sent")
        return []

    def _open(self, store: str) -> Collector:
        if self._collector is None:
            from ostler.telemetry.otlp import Collector  # noqa: PLC0415  (half a second, and only with the extra)

            self._collector = Collector(self._endpoint, store, self._project)
        return self._collector


def _touched(lines: Sequence[Line]) -> list[TaskId]:
    return sorted({TaskId(line.task) for line in lines if line.said.type in CLOSING})


def _ended(journal: SqliteJournal, task: TaskId, new: Sequence[Line]) -> list[Span]:
    """The task's spans that these lines end; the whole of its story says when they began."""
    models = {attempt.number: attempt.model for attempt in journal.attempts(task)}
    first, last = new[0].position, new[-1].position
    return [span for span in spans_of(_story(journal, task, last), models) if first <= span.closed <= last]


def _story(journal: SqliteJournal, task: TaskId, last: int) -> Iterator[Line]:
    after = 0
    while lines := journal.feed(after, task):
        yield from (read_line(line) for line in lines if line.position <= last)
        after = lines[-1].position
