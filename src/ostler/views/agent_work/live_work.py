"""What the agent of a running task does at the moment, and what it costs (ostler.live/1)."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.todo import Todo
from ostler.model.usage import Usage, add_cost
from ostler.views.lists.lanes import Lane

_LEAST_SECONDS = 5.0  # a rate over less time is no estimate
_HOUR = 3600.0


class Burn(Struct, frozen=True):
    """How fast the running attempt uses tokens and money."""

    tokens_per_minute: float
    usd_per_hour: float | None


class LiveWork(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.live/1"
    id: str
    running: bool  # false: no run works on the task, and the other fields are empty
    attempt: int | None = None  # null: no attempt runs at the moment
    executor: str = ""
    model: str = ""
    phase: str = ""
    iteration: int = 0
    since: float | None = None  # when the attempt began, else the task was claimed
    activity: str = ""
    waits: bool = False  # the activity is a wait
    until: float | None = None  # when that wait ends, if known
    usage: Usage = Usage()  # of the running attempt, so far
    cost_usd: float | None = None  # of it, by the price list; null: its model has no price
    task_usage: Usage = Usage()  # of all attempts, with this one
    task_cost_usd: float | None = None
    burn: Burn | None = None
    budget_usd: float | None = None  # of the task
    left_usd: float | None = None  # of this budget
    todos: tuple[Todo, ...] = ()


def view_live_work(
    task: str,
    lane: Lane | None,
    used: tuple[Usage, float | None],
    budget_usd: float | None,
    cost: float | None,
    now: float,
) -> LiveWork:
    """Return what runs; `used` is what the ended attempts cost, `cost` that of the running one."""
    usage, spent = used
    if lane is None:
        left = _left(budget_usd, spent)
        none = LiveWork(id=task, running=False, budget_usd=budget_usd, left_usd=left)
        return replace(none, task_usage=usage, task_cost_usd=spent)
    since = lane.attempt_at if lane.attempt else lane.since
    total = add_cost(spent, cost)
    return LiveWork(
        id=task,
        running=True,
        attempt=lane.attempt or None,
        executor=lane.executor if lane.attempt else "",
        model=lane.model if lane.attempt else "",
        phase=lane.phase,
        iteration=lane.iteration,
        since=since,
        activity=lane.activity,
        waits=lane.waits,
        until=lane.until,
        usage=lane.live,
        cost_usd=cost,
        task_usage=usage + lane.live,
        task_cost_usd=total,
        burn=_find_burn(lane, cost, now - since),
        budget_usd=budget_usd,
        left_usd=_left(budget_usd, total),
        todos=lane.todos,
    )


def _left(budget_usd: float | None, spent: float | None) -> float | None:
    return None if budget_usd is None else max(0.0, budget_usd - (spent or 0.0))


def _find_burn(lane: Lane, cost: float | None, seconds: float) -> Burn | None:
    if not lane.attempt or seconds < _LEAST_SECONDS or lane.live == Usage():
        return None
    used = lane.live
    tokens = used.total + used.cache_read_tokens + used.cache_write_tokens
    per_hour = None if cost is None else cost * _HOUR / seconds
    return Burn(tokens * 60 / seconds, per_hour)
