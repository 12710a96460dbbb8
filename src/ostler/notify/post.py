"""Delivers what the outbox holds: soon, again when it fails, and never in the way of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from ostler.clock import Clock
from ostler.config.settings import NotifySettings
from ostler.errors import OstlerError
from ostler.files.failpoint import reach
from ostler.files.layout import Layout
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.notify.message import decode, encode
from ostler.notify.occasion import Occasion, occasion_of
from ostler.notify.target import NotDelivered, OutOfOrder, Target, name_of, place_of
from ostler.store.follower import Follower
from ostler.store.outbox import Letter, Outbox
from ostler.store.sqlite import SqliteJournal

READER = "notify"
DELAYS_SECONDS = (1.0, 3.0, 30.0, 300.0, 3000.0)  # after each failed try; one more, and it is given up
_NOT_SOON = 2  # the first of these delays that no run waits for at its end
_LOOK_SECONDS = 0.5
_TROUBLE_SECONDS = 10.0

Describe = Callable[[SqliteJournal, TaskId], dict[str, object]]
"""A task as ostler.task/1, less attempts."""
MakeTarget = Callable[[NotifySettings], Target]


class Post:
    """One run's; of several on a project one delivers at a time, and another goes on when it ends."""

    def __init__(
        self,
        entries: Sequence[NotifySettings],
        make_target: MakeTarget,
        describe: Describe,
        layout: Layout,
        clock: Clock,
    ) -> None:
        self._entries = {name_of(entry): entry for entry in reversed(entries)}
        self._wants = [(name_of(entry), entry.on) for entry in entries]
        self._targets: Mapping[str, Target] = {
            name: make_target(entry) for name, entry in self._entries.items()
        }
        self._describe = describe
        self._project = layout.root.name
        self._clock = clock
        self._follower = Follower(READER, self._take, layout)
        self._busy: dict[str, asyncio.Task[None]] = {}  # by target: one letter at a time

    async def run(self) -> None:
        """Go on until it is cancelled."""
        while True:
            try:
                await self._turn()
                pause = _LOOK_SECONDS
            except OstlerError:  # a disk in trouble is the run's to tell
                pause = _TROUBLE_SECONDS
            await self._clock.sleep(pause)

    async def finish(self, seconds: float) -> str:
        """Deliver what can be delivered in this time; a sentence when something is left, else empty."""
        deadline = self._clock.monotonic() + seconds
        try:
            while await self._has_more(deadline):
                await self._clock.sleep(0.05)
            await self._stop()
            return await self._follower.ask(self._left)
        finally:
            await self._stop()
            await self._follower.close()

    async def _has_more(self, deadline: float) -> bool:
        """Whether waiting until the deadline can bring anything."""
        left = deadline - self._clock.monotonic()
        if left <= 0:
            return False
        if not await self._turn():
            return not await self._follower.is_through()
        latest = self._clock.now() + left
        letters = await self._follower.ask(self._waiting)
        return bool(self._busy) or any(one.due_at is not None and one.due_at < latest for one in letters)

    async def _turn(self) -> bool:
        """Read on, and begin what is due; False when another process does it."""
        if not await self._follower.catch_up():
            return False
        self._busy = {name: task for name, task in self._busy.items() if not task.done()}
        for letter in await self._follower.ask(self._waiting):
            if letter.target not in self._busy and letter.is_due(self._clock.now()):
                self._busy[letter.target] = asyncio.create_task(self._deliver(letter))
        return True

    async def _deliver(self, letter: Letter) -> None:
        """One try; it is written down before, so that a try that kills us is counted too."""
        tried = replace(letter, tries=letter.tries + 1, due_at=self._due_after(letter.tries))
        try:
            await self._follower.ask(partial(Outbox.keep, letter=tried))
            reach("notify.try")
            await self._targets[letter.target].deliver(decode(letter.body), letter.body)
            reach("notify.delivered")
            await self._follower.ask(partial(Outbox.remove, letter=letter))
        except NotDelivered as why:
            delay = max(letter.tries, _NOT_SOON) if isinstance(why, OutOfOrder) else letter.tries
            await self._put_off(replace(tried, due_at=self._due_after(delay), message=str(why)))
        except OstlerError:
            return  # it stays in the outbox as it was

    async def _put_off(self, letter: Letter) -> None:
        with suppress(OstlerError):  # it is written down as due already, if without the reason
            await self._follower.ask(partial(Outbox.keep, letter=letter))

    def _due_after(self, tries: int) -> float | None:
        return self._clock.now() + DELAYS_SECONDS[tries] if tries < len(DELAYS_SECONDS) else None

    async def _stop(self) -> None:
        for task in self._busy.values():
            task.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)
        self._busy = {}

    # In the follower's thread

    def _take(self, journal: SqliteJournal, lines: Sequence[FeedLine]) -> list[Letter]:
        occasions = [occasion for line in lines if (occasion := occasion_of(line)) is not None]
        return [letter for occasion in occasions for letter in self._letters(journal, occasion)]

    def _letters(self, journal: SqliteJournal, occasion: Occasion) -> list[Letter]:
        targets = [target for target, on in self._wants if occasion.on in on]
        task = self._describe(journal, occasion.task) if targets else {}
        return [
            Letter(
                occasion.position,
                target,
                encode(occasion, journal.store_id, target, self._project, task),
                self._clock.now(),
            )
            for target in targets
        ]

    def _waiting(self, outbox: Outbox) -> list[Letter]:
        """Those for our targets: a run that began before the settings were changed may have others."""
        mine = (letter for letter in outbox.letters() if letter.target in self._targets)
        return [letter for letter in mine if letter.due_at is not None]

    def _left(self, outbox: Outbox) -> str:
        waiting = self._waiting(outbox)
        if not waiting:
            return ""
        count = "1 notification is" if len(waiting) == 1 else f"{len(waiting)} notifications are"
        last = waiting[-1]
        why = f" ({place_of(self._entries[last.target])}: {last.message})" if last.message else ""
        return f"{count} not delivered yet{why}; the next run tries again"
