"""Simulates the queue: a number of tasks at a time, windows that fill and reset, and the day's budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Literal

from msgspec import Struct

from ostler.model.budget import is_waiting_for_budget
from ostler.views.forecast.needs import Need
from ostler.views.forecast.rates import Rate

LimitKind = Literal["window", "budget", "closed"]
"""A window of the provider is used up, the day's budget is spent, or the provider rejects calls."""

ROUNDING = 1e-9  # sums of shares such as 0.1 are not exact
_MOST_TRIES = 4  # a window, the day's budget, and both once more


class WindowRoom(Struct, frozen=True):
    """A window of an account, how much of it tasks may use, and how fast they use it."""

    name: str
    used: float
    limit: float  # share that tasks may use
    resets_at: float
    seconds: float  # until the reset after that
    rate: Rate | None = None  # None: not known yet

    def share_of(self, need: Need) -> float:
        """Return the share of the window that a task uses; 0 if that is not known."""
        return self.rate.share_of(need) if self.rate else 0.0


class Account(Struct, frozen=True):
    name: str
    windows: tuple[WindowRoom, ...] = ()
    closed_until: float = 0.0  # the provider rejects calls until then


class QueuedTask(Struct, frozen=True):
    id: str
    need: Need
    priority: str = "P2"
    created_at: str = ""
    earliest: float = 0.0  # not before this time
    tasks: int = 1  # that it stands for


class Capacity(Struct, frozen=True):
    """What limits the queue."""

    jobs: int
    accounts: tuple[Account, ...] = ()  # empty: no account has a known limit
    day_usd: float | None = None
    spent_today_usd: float = 0.0
    next_day: Callable[[float], float] = lambda now: now + 86_400.0


class Block(Struct, frozen=True):
    """Why a task cannot start at once."""

    kind: LimitKind
    until: float
    account: str = ""
    window: WindowRoom | None = None


class Schedule(Struct, frozen=True):
    done_at: float | None  # None: some tasks can never start
    block: Block | None = None  # the first one
    starts: tuple[tuple[float, int], ...] = ()  # when how many tasks start
    last: str = ""  # task that ends last

    def count_starts(self, before: float) -> int:
        """Return how many tasks start before this time."""
        return sum(tasks for at, tasks in self.starts if at < before)


def simulate(
    tasks: Sequence[QueuedTask], running: Sequence[Need], capacity: Capacity, now: float
) -> Schedule:
    """Return when the queue is through: running tasks first, then by priority and age, as a run does."""
    state = _Simulation(capacity, now)
    slots = [now] * max(0, capacity.jobs - len(running)) + [now + need.seconds for need in running]
    heapify(slots)
    for need in running:
        state.use(now, need)
    later = sorted(tasks, key=lambda task: task.earliest, reverse=True)
    ready: list[tuple[str, str, str, int, QueuedTask]] = []
    done_at, last, block, starts = max(slots), "", None, list[tuple[float, int]]()
    while later or ready:
        at = max(slots[0], state.last_start)
        if not ready and later[-1].earliest > at:
            # A task that was deferred because of a limit is blocked by it until then.
            block = block or state.find_block(later[-1], at)
            at = later[-1].earliest
        while later and later[-1].earliest <= at:
            task = later.pop()
            heappush(ready, (task.priority, task.created_at, task.id, len(later), task))
        task = heappop(ready)[-1]
        start, blocked = state.start(task, at)
        block = block or blocked
        if start is None:
            return Schedule(None, block, tuple(starts), last)
        starts.append((start, task.tasks))
        heapreplace(slots, start + task.need.seconds)
        if start + task.need.seconds >= done_at:
            done_at, last = start + task.need.seconds, task.id
    return Schedule(done_at, block, tuple(starts), last)


class _Window:
    """The use of a window in the simulation."""

    def __init__(self, room: WindowRoom) -> None:
        self.room = room
        self.used, self.resets_at = room.used, room.resets_at

    def is_full(self, need: Need, at: float) -> bool:
        """Return whether the task does not fit; one that exceeds a whole window starts in a new one."""
        return at < self.resets_at and self.used > 0 and self._after(need) > self.room.limit + ROUNDING

    def use(self, need: Need, at: float) -> None:
        if at >= self.resets_at:
            # A window begins with the first call after the reset of the last one.
            self.used, self.resets_at = 0.0, at + self.room.seconds
        self.used = self._after(need)

    def _after(self, need: Need) -> float:
        return self.used + self.room.share_of(need)


class _Simulation:
    """The accounts and the day's budget while tasks start, in the order of time."""

    def __init__(self, capacity: Capacity, now: float) -> None:
        self._capacity = capacity
        self._accounts = [(one, [_Window(room) for room in one.windows]) for one in capacity.accounts]
        self._spent_usd = capacity.spent_today_usd
        self._day_ends_at = capacity.next_day(now)
        self.last_start = now

    def start(self, task: QueuedTask, at: float) -> tuple[float | None, Block | None]:
        """Start a task when the limits allow it; return the time, None for never, and the first block."""
        first: Block | None = None
        for _ in range(_MOST_TRIES):
            block = self.find_block(task, at)
            if block is None:
                self.use(at, task.need)
                self.last_start = at
                return at, first
            first = first or block
            if block.kind == "budget" and self._spent_usd == 0:
                return None, first
            at = block.until
        return None, first

    def use(self, at: float, need: Need) -> None:
        """Count the need of a task on the account that it uses."""
        free = [windows for one, windows in self._accounts if _block_of(one, windows, need, at) is None]
        for window in (free or [windows for _, windows in self._accounts[:1]] or [[]])[0]:
            window.use(need, at)
        self._start_day(at)
        self._spent_usd += need.usd or 0.0

    def find_block(self, task: QueuedTask, at: float) -> Block | None:
        """Return what keeps the task from starting at this time; None if nothing does."""
        blocks = [_block_of(one, windows, task.need, at) for one, windows in self._accounts]
        if blocks and None not in blocks:
            return min((one for one in blocks if one), key=lambda block: block.until)
        self._start_day(at)
        limit = self._capacity.day_usd
        if limit is None or not is_waiting_for_budget(task.priority, self._spent_usd, limit):
            return None
        return Block("budget", self._day_ends_at)

    def _start_day(self, at: float) -> None:
        if at >= self._day_ends_at:
            self._spent_usd, self._day_ends_at = 0.0, self._capacity.next_day(at)


def _block_of(account: Account, windows: Sequence[_Window], need: Need, at: float) -> Block | None:
    """Return what keeps a task from starting on this account; the limit that ends last."""
    full = [window for window in windows if window.is_full(need, at)]
    last = max(full, key=lambda window: window.resets_at, default=None)
    if account.closed_until > max(at, last.resets_at if last else at):
        return Block("closed", account.closed_until, account.name)
    return Block("window", last.resets_at, account.name, last.room) if last else None
