"""The forecast of the waiting tasks (ostler.forecast/1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import count
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.clock import format_rfc3339
from ostler.model.limits.titles import window_title
from ostler.views.forecast.needs import Estimate, Estimator, Need
from ostler.views.forecast.phases import PhaseForecast, summarize_phases
from ostler.views.forecast.schedule import (
    ROUNDING,
    Block,
    Capacity,
    LimitKind,
    QueuedTask,
    Schedule,
    WindowRoom,
    simulate,
)

MOST_SINGLE = 100  # tasks that are simulated one by one; the others count as equal ones of each priority
_DAY_SECONDS = 86_400.0


class WaitingTask(Struct, frozen=True, gc=False):
    """A task that waits or runs, and the phases that it has left."""

    id: str
    weight: str
    phases: tuple[str, ...]
    priority: str = "P2"
    created_at: str = ""  # RFC 3339, in order
    earliest: float = 0.0  # not before this time
    tasks: int = 1  # equal tasks that are counted together


class WindowForecast(Struct, frozen=True):
    """How many more tasks of the usual size fit into a window."""

    account: str
    window: str
    title: str  # as on screens
    used: float
    limit: float  # share that tasks may use
    resets_at: str
    use_per_task: float | None  # share of the window; null: not known yet
    tasks: int | None  # that fit until the reset


class QueuePlace(Struct, frozen=True):
    """The place of a waiting task in the queue, and when it is expected to start."""

    id: str
    place: int | None  # 1: the next one; null: it waits for a time of its own
    starts_at: str | None  # null: unknown, or never


class Forecast(Struct, frozen=True, kw_only=True):
    schema: Literal["ostler.forecast/1"] = "ostler.forecast/1"
    tasks_waiting: int
    tasks_running: int = 0
    basis: int = 0  # past tasks that it is calculated from
    is_known: bool = True  # false: there are too few past tasks, and the fields below are empty
    tasks_blocked: int = 0  # left out: they depend on tasks that neither wait nor run
    done_at: str | None = None  # null: never, or later than more_than_days
    more_than_days: int | None = None  # it takes longer than this; no end is calculated
    done_at_p90: str | None = None
    cost_usd: float | None = None  # of waiting and running tasks; null: unknown
    cost_p90: float | None = None
    is_list_price: bool = False  # past tasks ran on a subscription, so that the cost is not billed
    tokens: int | None = None
    tokens_p90: int | None = None
    limited_by: LimitKind | None = None  # what the queue meets first; null: nothing
    fit_until_reset: int | None = None  # tasks that start before it
    account: str | None = None  # of that limit
    window: str | None = None  # that limits the queue, or the one with room for the fewest tasks
    resets_at: str | None = None  # end of that limit, or of that window
    windows: tuple[WindowForecast, ...] = ()
    phases: tuple[PhaseForecast, ...] = ()  # what past tasks needed
    queue: tuple[QueuePlace, ...] = ()  # the first waiting tasks
    template: str = ""  # all of it in one sentence, with {resets_at} and {done_at} instead of times
    text: str = ""  # the same with times, in the server's time zone


def make_forecast(
    waiting: Sequence[WaitingTask],
    running: Sequence[WaitingTask],
    estimator: Estimator,
    capacity: Capacity,
    now: float,
) -> Forecast | None:
    """Return the forecast, without numbers when there are too few past tasks; None when no task waits."""
    if not waiting:
        return None
    queue, busy = _estimate(waiting, estimator), _estimate(running, estimator)
    counts = Forecast(
        tasks_waiting=_count_tasks(waiting),
        tasks_running=len(running),
        basis=estimator.count_basis(task.weight for task in (*waiting, *running)),
        phases=summarize_phases(estimator.past),
    )
    if queue is None or busy is None:
        return replace(counts, is_known=False, queue=_list_places(waiting, now))
    total = _sum([*zip(queue, waiting, strict=True), *zip(busy, running, strict=True)])
    items = _list_items(waiting, queue, now)
    at_work = [need.median for need in busy]
    schedule = simulate(items, at_work, capacity, now)
    is_long = counts.tasks_waiting > MOST_SINGLE  # then the margin of all is short in comparison
    more = items if is_long else _extend(items, schedule.last, total.margin)
    late = schedule if is_long else simulate(more, at_work, capacity, now)
    result = _add_times(_add_totals(counts, total), schedule, late, total.margin.seconds, now)
    typical = _average(total.median, counts.tasks_waiting + counts.tasks_running)
    rooms = list(
        dict.fromkeys((account.name, room) for account in capacity.accounts for room in account.windows)
    )
    windows = tuple(_view_window(name, room, room.share_of(typical)) for name, room in rooms)
    places = _list_starts(items, schedule, now) or _list_places(waiting, now)
    result = replace(result, windows=windows, queue=places)
    return _add_limit(result, schedule, _find_tightest(rooms, typical))


def _list_starts(items: Sequence[QueuedTask], schedule: Schedule, now: float) -> tuple[QueuePlace, ...]:
    """Return the tasks that are simulated one by one, in the order of their starts."""
    single = {item.id: item for item in items if item.tasks == 1}
    starts = [one for one in schedule.starts if one.task in single and one.tasks == 1]
    places = count(1)
    return tuple(
        QueuePlace(one.task, _place(single[one.task].earliest, now, places), format_rfc3339(one.at))
        for one in starts
    )


def _list_places(waiting: Sequence[WaitingTask], now: float) -> tuple[QueuePlace, ...]:
    """Return the first tasks in the order in which a run starts them."""
    first = nsmallest(
        MOST_SINGLE,
        [task for task in waiting if task.tasks == 1],
        key=lambda task: (max(task.earliest, now), task.priority, task.created_at, task.id),
    )
    places = count(1)
    return tuple(QueuePlace(task.id, _place(task.earliest, now, places), None) for task in first)


def _place(earliest: float, now: float, places: Iterator[int]) -> int | None:
    """Return the next place; None for a task that waits for a time, which no other one waits behind."""
    return next(places) if earliest <= now else None


def _view_window(account: str, room: WindowRoom, use: float) -> WindowForecast:
    fits = (use, int(_count_fitting(room, use))) if use > ROUNDING else (None, None)
    shares = room.used, room.limit, format_rfc3339(room.resets_at)
    return WindowForecast(account, room.name, window_title(room.name), *shares, *fits)


def _find_tightest(rooms: Sequence[tuple[str, WindowRoom]], typical: Need) -> Block | None:
    """Return the window with room for the fewest tasks, as if it blocked them; None if none is measured."""
    measured = [(name, room) for name, room in rooms if room.share_of(typical) > ROUNDING]
    if not measured:
        return None
    name, room = min(measured, key=lambda one: _count_fitting(one[1], one[1].share_of(typical)))
    return Block("window", room.resets_at, name, room)


def _count_fitting(room: WindowRoom, use: float) -> float:
    return max(0.0, room.limit - room.used) / use + ROUNDING


def _estimate(tasks: Sequence[WaitingTask], estimator: Estimator) -> list[Estimate] | None:
    found = [estimator.estimate(task.weight, task.phases) for task in tasks]
    known = [estimate for estimate in found if estimate is not None]
    return known if len(known) == len(found) else None


def _list_items(waiting: Sequence[WaitingTask], needs: Sequence[Estimate], now: float) -> list[QueuedTask]:
    """Return the first tasks, and the others as groups of equal tasks: a long queue takes no longer."""
    groups: dict[tuple[float, str], list[tuple[WaitingTask, Estimate]]] = {}
    for pair in zip(waiting, needs, strict=True):
        task = pair[0]
        day = task.earliest // _DAY_SECONDS if task.earliest > now else 0.0
        groups.setdefault((day, task.priority), []).append(pair)
    items: list[QueuedTask] = []
    for key in sorted(groups):
        items += _split(groups[key], max(0, MOST_SINGLE - len(items)))
    return items


def _split(pairs: list[tuple[WaitingTask, Estimate]], single: int) -> list[QueuedTask]:
    """Return so many single tasks of a group, the oldest, and the others as one item."""
    ones = [pair for pair in pairs if pair[0].tasks == 1]
    if 0 < single < len(ones):
        ones.sort(key=lambda pair: (pair[0].created_at, pair[0].id))
    others = ones[single:] + [pair for pair in pairs if pair[0].tasks > 1]
    first = [_queue(task, need.median) for task, need in ones[:single]]
    return [*first, *([_group(others)] if others else [])]


def _queue(task: WaitingTask, need: Need) -> QueuedTask:
    return QueuedTask(task.id, need, task.priority, task.created_at, task.earliest)


def _group(pairs: Sequence[tuple[WaitingTask, Estimate]]) -> QueuedTask:
    first, number = pairs[0][0], _count_tasks(task for task, _ in pairs)
    need = _average(_sum([(need, task) for task, need in pairs]).median, number)
    earliest = max(task.earliest for task, _ in pairs)
    return QueuedTask(first.id, need, first.priority, first.created_at, earliest, number)


def _count_tasks(waiting: Iterable[WaitingTask]) -> int:
    return sum(task.tasks for task in waiting)


def _sum(estimates: Sequence[tuple[Estimate, WaitingTask]]) -> Estimate:
    """Return the need of all tasks.

    The estimator returns one object for equal tasks: a sum of thousands, or their hashes, would take longer
    than all the rest.
    """
    by_id, counts = {id(one): one for one, _ in estimates}, Counter[int]()
    for one, task in estimates:
        counts[id(one)] += task.tasks
    return sum((one.times(counts[key]) for key, one in by_id.items()), Estimate())


def _extend(tasks: Sequence[QueuedTask], last: str, margin: Need) -> list[QueuedTask]:
    """Return the tasks with the margin of all of them in the one that ends last."""
    return [replace(task, need=task.need + margin) if task.id == last else task for task in tasks]


def _average(need: Need, tasks: int) -> Need:
    usd = None if need.usd is None else need.usd / tasks
    return Need(need.seconds / tasks, need.tokens / tasks, usd)


def _add_totals(forecast: Forecast, total: Estimate) -> Forecast:
    need, late = total.median, total.median + total.margin
    return replace(
        forecast,
        cost_usd=need.usd,
        cost_p90=late.usd,
        tokens=round(need.tokens),
        tokens_p90=round(late.tokens),
    )


def _add_times(
    forecast: Forecast, schedule: Schedule, late: Schedule, margin_seconds: float, now: float
) -> Forecast:
    if schedule.reached_at is not None:
        return replace(forecast, more_than_days=int((schedule.reached_at - now) // _DAY_SECONDS))
    if schedule.done_at is None:
        return forecast
    done_at = format_rfc3339(schedule.done_at)
    if late.done_at is None:
        return replace(forecast, done_at=done_at)
    done_late = max(late.done_at, schedule.done_at + margin_seconds)
    return replace(forecast, done_at=done_at, done_at_p90=format_rfc3339(done_late))


def _add_limit(forecast: Forecast, schedule: Schedule, tightest: Block | None) -> Forecast:
    block = schedule.block or tightest
    if block is None:
        return forecast
    return replace(
        forecast,
        limited_by=block.kind if schedule.block else None,
        fit_until_reset=schedule.count_starts(block.until),
        account=block.account or None,
        window=block.window.name if block.window else None,
        resets_at=format_rfc3339(block.until),
    )
