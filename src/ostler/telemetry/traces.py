"""Read the feed and send each span when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ostler.clock import Clock
from ostler.errors import OstlerError
from ostler.files.failpoint import reach
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.store.accounts.sqlite import read_accounts
from ostler.store.feed_reader import FeedReader, RetryLater
from ostler.store.outbox import OutboxMessage
from ostler.store.sql_journal import SqlJournal
from ostler.store.store import Store
from ostler.telemetry.line import DecodedLine, decode_line
from ostler.telemetry.span import Span
from ostler.telemetry.tree import CLOSING, build_spans

if TYPE_CHECKING:
    from ostler.telemetry.otlp import Collector

READER = "telemetry"
_POLL_SECONDS = 2.0
_ERROR_DELAY_SECONDS = 10.0


def is_installed() -> bool:
    """Return whether the extra `otel` is installed."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


class TraceExporter:
    """The exporter of one run; of several runs in a project one sends at a time, and another takes over."""

    def __init__(
        self,
        endpoint: str,
        project: str,
        store: Store,
        clock: Clock,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._environ = environ or {}
        self._project = project
        self._clock = clock
        self._reader = FeedReader(READER, self._handle_lines, store)
        self._collector: Collector | None = None

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            try:
                await self._reader.catch_up()
                pause = _POLL_SECONDS
            except (RetryLater, OstlerError):
                pause = _ERROR_DELAY_SECONDS
            await self._clock.sleep(pause)

    async def finish(self, seconds: float) -> str:
        """Send the rest in this time; return a message when the collector did not accept it, else an empty
        text.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._reader.catch_up()
        except (RetryLater, TimeoutError):
            return "the telemetry collector does not accept traces; the next run sends them"
        finally:
            if self._collector is not None:
                self._collector.close()
            await self._reader.close()
        return ""

    # Called in the reader's thread

    def _handle_lines(self, journal: SqlJournal, lines: Sequence[FeedLine]) -> list[OutboxMessage]:
        new = [decode_line(line) for line in lines]
        spans = [(task, span) for task in _find_tasks(new) for span in _find_ended_spans(journal, task, new)]
        now = self._clock.now()
        windows = read_accounts(self._environ, now).windows
        if not self._open(journal.store_id).send(spans, new, windows, now):
            raise RetryLater
        reach("telemetry.sent")
        return []

    def _open(self, store: str) -> Collector:
        if self._collector is None:
            from ostler.telemetry.otlp import Collector  # noqa: PLC0415  (takes half a second, and needs the extra)

            self._collector = Collector(self._endpoint, store, self._project)
        return self._collector


def _find_tasks(lines: Sequence[DecodedLine]) -> list[TaskId]:
    return sorted({TaskId(line.task) for line in lines if line.event.type in CLOSING})


def _find_ended_spans(journal: SqlJournal, task: TaskId, new: Sequence[DecodedLine]) -> list[Span]:
    """Return the task's spans that end in these lines; their starts are found in its whole feed."""
    models = {attempt.number: attempt.model for attempt in journal.attempts(task)}
    first, last = new[0].position, new[-1].position
    return [
        span for span in build_spans(_read_feed(journal, task, last), models) if first <= span.closed <= last
    ]


def _read_feed(journal: SqlJournal, task: TaskId, last: int) -> Iterator[DecodedLine]:
    after = 0
    while lines := journal.feed(after, task):
        yield from (decode_line(line) for line in lines if line.position <= last)
        after = lines[-1].position
