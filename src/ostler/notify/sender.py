"""Deliver the messages of the outbox, and retry failed deliveries, without delaying a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from ostler.clock import Clock
from ostler.config.settings import NotifySettings
from ostler.errors import Code, OstlerError
from ostler.files.failpoint import reach
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.notify.message import (
    NotDelivered,
    Target,
    TargetMisconfigured,
    decode,
    display_name,
    encode,
    target_id,
)
from ostler.notify.occasion import Occasion, find_shared_end, occasion_of
from ostler.secrets.redact import redact_text
from ostler.store.feed_reader import FeedReader
from ostler.store.outbox import Outbox, OutboxMessage
from ostler.store.sql_journal import SqlJournal
from ostler.store.store import Store
from ostler.views.lists.groups import group_of

READER = "notify"
# After each failed delivery; after the last delay and one more failure the message is given up.
DELAYS_SECONDS = (1.0, 3.0, 30.0, 300.0, 3000.0)
_FIRST_LONG_DELAY = 2  # index of the first delay that a run does not wait for at its end
_POLL_SECONDS = 0.5
_ERROR_DELAY_SECONDS = 10.0

Describe = Callable[[SqlJournal, TaskId], dict[str, object]]
"""Return a task as ostler.task/1 without attempts."""
MakeTarget = Callable[[NotifySettings], Target]


class NotificationSender:
    """The sender of one run; of several runs in a project one sends at a time, and another takes over."""

    def __init__(
        self,
        entries: Sequence[NotifySettings],
        make_target: MakeTarget,
        describe: Describe,
        project: str,
        store: Store,
        clock: Clock,
    ) -> None:
        self._entries = {target_id(entry): entry for entry in reversed(entries)}
        self._subscriptions = [(target_id(entry), entry.on) for entry in entries]
        self._targets: Mapping[str, Target] = {
            name: make_target(entry) for name, entry in self._entries.items()
        }
        self._describe = describe
        self._project = project
        self._clock = clock
        self._reader = FeedReader(READER, self._handle_lines, store)
        self._deliveries: dict[str, asyncio.Task[None]] = {}  # by target: one delivery at a time

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            try:
                await self._read_and_deliver()
                pause = _POLL_SECONDS
            except OstlerError:  # the run itself reports storage errors
                pause = _ERROR_DELAY_SECONDS
            await self._clock.sleep(pause)

    async def finish(self, seconds: float) -> str:
        """Deliver what is possible in this time; return a message when something is left, else ""."""
        deadline = self._clock.monotonic() + seconds
        try:
            while await self._has_more(deadline):
                await self._clock.sleep(0.05)
            await self._stop()
            return await self._reader.query_outbox(self._describe_undelivered)
        finally:
            await self._stop()
            await self._reader.close()

    async def _has_more(self, deadline: float) -> bool:
        """Return whether it is useful to wait until the deadline."""
        left = deadline - self._clock.monotonic()
        if left <= 0:
            return False
        if not await self._read_and_deliver():
            return not await self._reader.is_caught_up()
        latest = self._clock.now() + left
        messages = await self._reader.query_outbox(self._waiting)
        return bool(self._deliveries) or any(
            one.due_at is not None and one.due_at < latest for one in messages
        )

    async def _read_and_deliver(self) -> bool:
        """Read the feed and start due deliveries; return False when another process does it."""
        if not await self._reader.catch_up():
            return False
        self._deliveries = {name: task for name, task in self._deliveries.items() if not task.done()}
        for message in await self._reader.query_outbox(self._waiting):
            if message.target not in self._deliveries and message.is_due(self._clock.now()):
                self._deliveries[message.target] = asyncio.create_task(self._deliver(message))
        return True

    async def _deliver(self, message: OutboxMessage) -> None:
        """Try once; the attempt is recorded first, so that one that crashes this process is counted."""
        tried = replace(message, tries=message.tries + 1, due_at=self._due_after(message.tries))
        try:
            await self._reader.query_outbox(partial(Outbox.update, message=tried))
            reach("notify.try")
            await self._targets[message.target].deliver(decode(message.body), message.body)
            reach("notify.delivered")
            await self._reader.query_outbox(partial(Outbox.remove, message=message))
        except NotDelivered as error:
            delay = (
                max(message.tries, _FIRST_LONG_DELAY)
                if isinstance(error, TargetMisconfigured)
                else message.tries
            )
            await self._postpone(
                replace(tried, due_at=self._due_after(delay), message=redact_text(str(error)))
            )
        except OstlerError:
            return  # the message stays in the outbox

    async def _postpone(self, message: OutboxMessage) -> None:
        with suppress(OstlerError):  # it is already recorded as due, without the reason
            await self._reader.query_outbox(partial(Outbox.update, message=message))

    def _due_after(self, tries: int) -> float | None:
        return self._clock.now() + DELAYS_SECONDS[tries] if tries < len(DELAYS_SECONDS) else None

    async def _stop(self) -> None:
        for task in self._deliveries.values():
            task.cancel()
        await asyncio.gather(*self._deliveries.values(), return_exceptions=True)
        self._deliveries = {}

    # Called in the reader's thread

    def _handle_lines(self, journal: SqlJournal, lines: Sequence[FeedLine]) -> list[OutboxMessage]:
        new = (line for line in lines if not _is_repeated(journal, line))
        occasions = [occasion for line in new if (occasion := occasion_of(line)) is not None]
        return [message for occasion in occasions for message in self._make_messages(journal, occasion)]

    def _make_messages(self, journal: SqlJournal, occasion: Occasion) -> list[OutboxMessage]:
        targets = [target for target, on in self._subscriptions if occasion.on in on]
        if not targets:
            return []
        task, occasion = self._describe(journal, occasion.task), _count_waiting(journal, occasion)
        return [
            OutboxMessage(
                occasion.position,
                target,
                encode(occasion, journal.store_id, target, self._project, task),
                self._clock.now(),
            )
            for target in targets
        ]

    def _waiting(self, outbox: Outbox) -> list[OutboxMessage]:
        """Return the messages for our targets; other runs may have started with other settings."""
        mine = (message for message in outbox.messages() if message.target in self._targets)
        return [message for message in mine if message.due_at is not None]

    def _describe_undelivered(self, outbox: Outbox) -> str:
        waiting = self._waiting(outbox)
        if not waiting:
            return ""
        count = "1 notification is" if len(waiting) == 1 else f"{len(waiting)} notifications are"
        last = waiting[-1]
        why = f" ({display_name(self._entries[last.target])}: {last.message})" if last.message else ""
        return f"{count} not delivered yet{why}; the next run tries again"


def _count_waiting(journal: SqlJournal, occasion: Occasion) -> Occasion:
    """Add the number of tasks that wait to a message about a limit."""
    if occasion.limit is None:
        return occasion
    counts = journal.listing.counts()
    waiting = sum(count for status, count in counts.items() if group_of(status) == "waiting")
    return replace(occasion, limit=replace(occasion.limit, waiting=waiting))


def _is_repeated(journal: SqlJournal, line: FeedLine) -> bool:
    """Return whether the same budget of the day has deferred another task before."""
    end = find_shared_end(line)
    return end is not None and journal.has_deferral(Code.BUDGET_EXCEEDED, end, line.position)
