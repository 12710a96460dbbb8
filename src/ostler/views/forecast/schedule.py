"""Simulates the queue: a number of tasks at a time, windows that fill and reset, and the day's budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from math import ceil
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.policy.budget import count_affordable, is_waiting_for_budget
from ostler.model.task import FIRST_LATE_PRIORITY
from ostler.views.forecast.needs import Need
from ostler.views.forecast.rates import Rate

LimitKind = Literal["window", "budget", "closed", "early"]
"""A window of the provider is used up, the day's budget is spent, the provider rejects calls, or a task of
the last priority waits for the time before a reset."""

ROUNDING = 1e-9  # sums of shares such as 0.1 are not exact
HORIZON_DAYS = 60  # nothing later is simulated
_HORIZON_SECONDS = HORIZON_DAYS * 86_400.0
_MOST_STEPS = 4000  # more than the five-hour windows of the horizon, for each priority
_MOST_TRIES = 12  # limits that a task meets one after another


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
    """The windows of an account that a model uses; two models of an account share those of the same name."""

    name: str
    windows: tuple[WindowRoom, ...] = ()
    closed_until: float = 0.0  # the provider rejects calls until then


class QueuedTask(Struct, frozen=True):
    id: str
    need: Need
    priority: str = "P2"
    created_at: str = ""
    earliest: float = 0.0  # not before this time
    tasks: int = 1  # equal tasks that are counted together


class Capacity(Struct, frozen=True):
    """What limits the queue."""

    jobs: int
    accounts: tuple[Account, ...] = ()  # empty: no account has a known limit
    day_usd: float | None = None
    spent_today_usd: float = 0.0
    next_day: Callable[[float], float] = lambda now: now + 86_400.0
    early_seconds: float | None = None  # tasks of the last priority start so long before a reset


class Block(Struct, frozen=True):
    """Why a task cannot start at once."""

    kind: LimitKind
    until: float
    account: str = ""
    window: WindowRoom | None = None


class Start(Struct, frozen=True):
    """Equal tasks that start one after another."""

    at: float
    tasks: int = 1
    seconds: float = 0.0  # from the first to the last start
    task: str = ""  # the task, or one of them

    def count_before(self, time: float) -> int:
        if self.at >= time or time > self.at + self.seconds:
            return self.tasks if self.at < time else 0
        return min(self.tasks, ceil(self.tasks * (time - self.at) / self.seconds))


class Schedule(Struct, frozen=True):
    done_at: float | None  # None: some tasks can never start, or the end is not simulated
    block: Block | None = None  # the first one
    starts: tuple[Start, ...] = ()
    last: str = ""  # task that ends last
    reached_at: float | None = None  # the simulation ended here, before all tasks were done

    def count_starts(self, before: float) -> int:
        """Return how many tasks start before this time."""
        return sum(start.count_before(before) for start in self.starts)


def simulate(
    tasks: Sequence[QueuedTask], running: Sequence[Need], capacity: Capacity, now: float
) -> Schedule:
    """Return when the queue is through: running tasks first, then by priority and age, as a run does."""
    return _Queue(tasks, running, capacity, now).run()


class _Queue:
    """The tasks that wait and the slots of a run."""

    def __init__(
        self, tasks: Sequence[QueuedTask], running: Sequence[Need], capacity: Capacity, now: float
    ) -> None:
        self._state = _Simulation(capacity, now)
        self._slots = [now] * max(0, capacity.jobs - len(running)) + [now + one.seconds for one in running]
        heapify(self._slots)
        for need in running:
            self._state.use(now, QueuedTask("", need))
        self._later = sorted(tasks, key=lambda task: task.earliest, reverse=True)
        self._ready: list[tuple[str, str, str, int, QueuedTask]] = []
        self._ends_at = now + _HORIZON_SECONDS
        self._block: Block | None = None
        self._starts: list[Start] = []
        self._done_at, self._last = max(self._slots), ""

    def run(self) -> Schedule:
        for _ in range(_MOST_STEPS):
            if not self._later and not self._ready:
                is_known = self._done_at <= self._ends_at
                return self._end(self._done_at) if is_known else self._end(None, self._ends_at)
            at = self._advance()
            if at > self._ends_at:
                return self._end(None, self._ends_at)
            task = heappop(self._ready)[-1]
            start, blocked = self._state.find_start(task, at, self._ends_at)
            self._block = self._block or blocked
            if start is None:
                return self._end(None)
            if start > self._ends_at:
                return self._end(None, self._ends_at)
            self._start(task, start)
        return self._end(None, max(self._slots[0], self._state.last_start))

    def _end(self, done_at: float | None, reached_at: float | None = None) -> Schedule:
        return Schedule(done_at, self._block, tuple(self._starts), self._last, reached_at)

    def _advance(self) -> float:
        """Return when the next slot is free and a task is due; the tasks that are due then are ready."""
        at = max(self._slots[0], self._state.last_start)
        if not self._ready and self._later[-1].earliest > at:
            # A task that was deferred because of a limit is blocked by it until then.
            self._block = self._block or self._state.find_block(self._later[-1], at)
            at = self._later[-1].earliest
        while self._later and self._later[-1].earliest <= at:
            self._add(self._later.pop())
        return at

    def _add(self, task: QueuedTask) -> None:
        heappush(self._ready, (task.priority, task.created_at, task.id, len(self._later), task))

    def _start(self, task: QueuedTask, at: float) -> None:
        due_at = self._later[-1].earliest if self._later else at + _HORIZON_SECONDS
        number = self._state.count_equal(task, at, len(self._slots), due_at) if task.tasks > 1 else 1
        self._state.use(at, task, number)
        rounds, more = divmod(number, len(self._slots))
        seconds = task.need.seconds
        if rounds and number > 1:
            # Equal numbers are added to each slot, so it stays a heap.
            self._slots = [max(slot, at) + rounds * seconds for slot in self._slots]
        else:
            more = number
        for _ in range(more):
            heapreplace(self._slots, max(self._slots[0], at) + seconds)
        self._starts.append(
            Start(at, number, max(0.0, max(self._slots) - at - seconds) if number > 1 else 0.0, task.id)
        )
        end = max(self._slots) if number > 1 else at + seconds
        if end >= self._done_at:
            self._done_at, self._last = end, task.id
        if number < task.tasks:
            self._add(replace(task, tasks=task.tasks - number))


class _Window:
    """The use of a window in the simulation."""

    def __init__(self, room: WindowRoom) -> None:
        self.room = room
        self.used, self.resets_at = room.used, room.resets_at

    def is_full(self, need: Need, at: float) -> bool:
        """Return whether the task does not fit; one that exceeds a whole window starts in a new one."""
        if at >= self.resets_at:
            return False
        is_over = self.used > 0 and self.used + self.room.share_of(need) > self.room.limit + ROUNDING
        return is_over or self.used >= self.room.limit - ROUNDING

    def count_fitting(self, need: Need, at: float) -> float:
        """Return how many equal tasks fit."""
        share = self.room.share_of(need)
        left = self.room.limit - (self.used if at < self.resets_at else 0.0)
        return float("inf") if share <= ROUNDING and left > ROUNDING else (left + ROUNDING) / (share or 1.0)

    def use(self, need: Need, at: float, number: int) -> None:
        if at >= self.resets_at:
            # A window begins with the first call after the reset of the last one.
            self.used, self.resets_at = 0.0, at + self.room.seconds
        self.used += self.room.share_of(need) * number


class _Simulation:
    """The accounts and the day's budget while tasks start, in the order of time."""

    def __init__(self, capacity: Capacity, now: float) -> None:
        self._capacity = capacity
        rooms = {(one.name, room.name): room for one in capacity.accounts for room in one.windows}
        self._windows = {key: _Window(room) for key, room in rooms.items()}
        self._accounts = [
            (one, [self._windows[one.name, room.name] for room in one.windows]) for one in capacity.accounts
        ]
        self._spent_usd = capacity.spent_today_usd
        self._day_ends_at = capacity.next_day(now)
        self.last_start = now

    def find_start(self, task: QueuedTask, at: float, ends_at: float) -> tuple[float | None, Block | None]:
        """Return when the limits allow the task to start, None for never, and the first block."""
        first: Block | None = None
        for _ in range(_MOST_TRIES):
            block = self.find_block(task, at)
            if block is None:
                return at, first
            first = first or block
            if block.kind == "budget" and self._spent_usd == 0:
                return None, first
            at = block.until
            if at > ends_at:
                break
        return float("inf"), first

    def use(self, at: float, task: QueuedTask, number: int = 1) -> None:
        """Count the need of tasks on the account that they use."""
        for window in self._find_windows(at, task):
            window.use(task.need, at, number)
        self._start_day(at)
        self._spent_usd += (task.need.usd or 0.0) * number
        self.last_start = at

    def count_equal(self, task: QueuedTask, at: float, slots: int, due_at: float) -> int:
        """Return how many equal tasks start from this time on before anything but the use changes."""
        windows, need = self._find_windows(at, task), task.need
        if self._waits_for_reset(task) and any(at >= window.resets_at for window in windows):
            return 1  # its call begins a window, and the next task waits for the reset of that one
        counts = [float(task.tasks), *(window.count_fitting(need, at) for window in windows)]
        day_usd = self._capacity.day_usd
        if day_usd is not None:
            counts.append(count_affordable(task.priority, self._spent_usd, day_usd, need.usd or 0.0))
        if need.seconds > 0:
            counts.append(slots * ceil((self._find_change(at, due_at) - at) / need.seconds))
        return max(1, int(min(counts)))

    def _find_change(self, at: float, due_at: float) -> float:
        """Return the next time at which a limit begins or ends, or another task is due."""
        resets = [window.resets_at for window in self._windows.values()]
        early = [reset - (self._capacity.early_seconds or 0.0) for reset in resets]
        opened = [one.closed_until for one in self._capacity.accounts]
        return min(time for time in (due_at, self._day_ends_at, *resets, *early, *opened) if time > at)

    def _find_windows(self, at: float, task: QueuedTask) -> list[_Window]:
        """Return the windows of the account that a task uses: the first one that allows it."""
        free = [
            windows for one, windows in self._accounts if self._find_limit(task, one, windows, at) is None
        ]
        return (free or [windows for _, windows in self._accounts[:1]] or [[]])[0]

    def find_block(self, task: QueuedTask, at: float) -> Block | None:
        """Return what keeps the task from starting at this time; None if nothing does."""
        blocks = [self._find_limit(task, one, windows, at) for one, windows in self._accounts]
        if blocks and None not in blocks:
            return min((one for one in blocks if one), key=lambda block: block.until)
        self._start_day(at)
        limit = self._capacity.day_usd
        if limit is None or not is_waiting_for_budget(task.priority, self._spent_usd, limit):
            return None
        return Block("budget", self._day_ends_at)

    def _find_limit(
        self, task: QueuedTask, account: Account, windows: Sequence[_Window], at: float
    ) -> Block | None:
        found = _block_of(account, windows, task.need, at)
        return found or (self._find_early(account, windows, at) if self._waits_for_reset(task) else None)

    def _waits_for_reset(self, task: QueuedTask) -> bool:
        return self._capacity.early_seconds is not None and task.priority >= FIRST_LATE_PRIORITY

    def _find_early(self, account: Account, windows: Sequence[_Window], at: float) -> Block | None:
        """Return the time before a reset that a task of the last priority waits for.

        On an account without a window it waits for the first reset of the others, as a run does.
        """
        seconds = self._capacity.early_seconds or 0.0
        own = [window.resets_at for window in windows if window.resets_at > at]
        others = [window.resets_at for window in self._windows.values() if window.resets_at > at]
        starts_at = min(own) - seconds if own else min(others, default=0.0)
        return Block("early", starts_at, account.name) if starts_at > at else None

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
