"""The forecast: estimates from past tasks, and rates of windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forecasts import DAY, HOUR, NOW, forecast, past, text_of, waiting
from ostler.clock import format_rfc3339
from ostler.model.ids import TaskId
from ostler.model.limits.window_change import WindowChange
from ostler.model.usage import Usage
from ostler.store.queries.past_attempts import CompletedTask, History, PastAttempt
from ostler.views.forecast.forecast import make_forecast
from ostler.views.forecast.needs import Estimator, Need, PastTask, list_past_tasks
from ostler.views.forecast.rates import Rate, learn_rates
from ostler.views.forecast.schedule import Account, Capacity, QueuedTask, WindowRoom, simulate


def attempt(number: int, at: float, first: float, last: float, **fields: object) -> PastAttempt:
    """An attempt of one minute with 1000 tokens and $1 that reported a window twice."""
    change = WindowChange("five_hour", first, last, NOW + HOUR, 2)
    one = PastAttempt(
        TaskId(f"t{number}"), 1, "implement", at, 60_000, Usage(900, 100), 1.0, account="claude"
    )
    return replace(one, windows=(change,), **fields)


# Needs


def test_the_same_weight_is_the_basis() -> None:
    """Three past tasks of a weight are enough; with fewer, all weights count."""
    tasks = [*past("small", 1, 2, 3), *past("large", 60, 70)]
    small, large = (
        Estimator(tasks).estimate("small", ("implement",)),
        Estimator(tasks).estimate("large", ("implement",)),
    )
    assert small is not None and (small.median.seconds, small.tasks) == (120, 3)
    assert large is not None and (large.median.seconds, large.tasks) == (180, 5)
    assert forecast(waiting(1), Capacity(1), *tasks).basis == 3
    assert forecast([*waiting(1), *waiting(1, "large")], Capacity(1), *tasks).basis == 5


@pytest.mark.parametrize("number", [0, 1, 2])
def test_too_few_past_tasks_give_no_number(number: int) -> None:
    """The text says so and names how many there are."""
    found = make_forecast(waiting(4), [], Estimator(past("small", *[1.0] * number)), Capacity(1), NOW)
    assert found is not None and not found.is_known and found.done_at is found.cost_usd is None
    assert text_of(found) == (f"4 tasks wait; not enough past tasks for a forecast ({number} of 3)")


def test_a_new_phase_is_estimated_as_the_others() -> None:
    """A phase that no past task had needs as much as a usual phase; a finished task needs nothing."""
    estimator = Estimator(past("small", 10, 20, 30))
    new, nothing = estimator.estimate("small", ("spec",)), estimator.estimate("small", ())
    assert new is not None and new.median == Need(1200, 20_000, 20)
    assert nothing is not None and nothing.median == Need()


def test_ninth_of_ten() -> None:
    """The 90th percentile of one task is that of the past tasks; the margins of many partly cancel out."""
    estimator = Estimator(past("small", *range(11)))
    one = estimator.estimate("small", ("implement",))
    assert one is not None and (one.median.usd, one.margin.usd) == (5, 4)
    four = one + one + one + one
    assert (four.median.usd, four.margin.usd) == (20, 8)
    assert one.times(4) == four


def test_an_unknown_cost_stays_unknown() -> None:
    """Attempts without a cost are no free attempts."""
    tasks = [PastTask("small", {"implement": Need(60, 10, None)}) for _ in range(5)]
    found = forecast(waiting(2), Capacity(1), *tasks)
    assert found.cost_usd is found.cost_p90 is None and found.done_at == format_rfc3339(NOW + 120)


def test_gates_count_and_waits_do_not() -> None:
    """Up to ten minutes after an attempt belong to its phase; a longer gap was a wait."""
    one = PastAttempt(TaskId("a"), 1, "implement", NOW, 60_000, Usage(10, 5), 1.0)
    two = replace(one, number=2, started_at=NOW + 100)  # a gate of 40 s in between
    three = replace(one, number=3, phase="test", started_at=NOW + 5 * HOUR)
    completed = {TaskId("a"): CompletedTask("small", NOW + 5 * HOUR + 90)}
    (task,) = list_past_tasks(History((one, two, three), completed))
    assert task.phases == {"implement": Need(160, 30, 2.0), "test": Need(90, 15, 1.0)}


# Rates


def test_attempts_at_the_same_time_share_the_change() -> None:
    """Two parallel attempts both see the whole change of a window; it is counted once."""
    pairs = [(NOW, 0.10, 0.20), (NOW + 1, 0.10, 0.20), (NOW + 70, 0.20, 0.40), (NOW + 71, 0.21, 0.40)]
    attempts = [attempt(index, at, first, last) for index, (at, first, last) in enumerate(pairs)]
    rate = learn_rates(attempts)["claude", "five_hour"]
    assert rate.per_usd == pytest.approx(0.3 / 4 * 8 / 7)  # 7 of 8 requests are between two reports
    assert rate.per_token == pytest.approx(0.3 / 4000 * 8 / 7) and rate.attempts == 4


def test_use_between_attempts_is_not_ours() -> None:
    """What a person used between two runs, and a reset, do not count."""
    alone = [attempt(index, NOW + index * HOUR, index * 0.3, index * 0.3 + 0.05) for index in range(3)]
    assert learn_rates(alone)["claude", "five_hour"].per_usd == pytest.approx(0.1)  # half of each was before
    after = [
        replace(one, windows=(WindowChange("five_hour", 0.0, 0.05, NOW + 9 * HOUR, 2),)) for one in alone
    ]
    assert learn_rates([*alone, *after])["claude", "five_hour"].per_usd == pytest.approx(0.1)


def test_without_changes_there_is_no_rate() -> None:
    """One report, a change below a percent, or two attempts are not enough."""
    flat = [attempt(index, NOW + index * 100, 0.5, 0.5) for index in range(9)]
    single = [replace(one, windows=(WindowChange("five_hour", 0.5, 0.5, NOW, 1),)) for one in flat[:1]]
    assert learn_rates(flat) == learn_rates(single) == learn_rates([]) == {}
    assert learn_rates([attempt(0, NOW, 0.1, 0.2), attempt(1, NOW + 9, 0.2, 0.3)]) == {}


def test_without_prices_tokens_are_used() -> None:
    rising = [
        attempt(index, NOW + index * 100, index / 10, index / 10 + 0.1, cost_usd=None) for index in range(3)
    ]
    rate = learn_rates(rising)["claude", "five_hour"]
    assert rate.per_usd is None
    assert rate.share_of(Need(0, 1000, None)) == rate.share_of(Need(0, 1000, 5)) == pytest.approx(0.12)


def test_what_past_tasks_needed() -> None:
    """By weight and phase: median and 90th percentile, and from how many tasks."""
    found = forecast(waiting(1), Capacity(1), *past("small", *range(11)), *past("large", 100))
    assert [(one.weight, one.phase, one.tasks) for one in found.phases] == [
        ("small", "implement", 11),
        ("large", "implement", 1),
    ]
    small = found.phases[0]
    assert (small.seconds, small.seconds_p90) == (300, 540)
    assert (small.tokens, small.tokens_p90) == (5000, 9000)
    assert (small.cost_usd, small.cost_p90) == (5, 9)
    assert found.phases[1].cost_usd is None  # one task is not enough for a cost


def test_no_waiting_task_no_forecast() -> None:
    assert make_forecast([], waiting(1), Estimator(past("small", 1, 2, 3)), Capacity(1), NOW) is None


# Properties

needs = st.builds(Need, st.floats(0, 1e5), st.floats(0, 1e7), st.none() | st.floats(0, 100))
tasks_of_any_kind = st.builds(
    QueuedTask,
    st.uuids().map(str),
    needs,
    st.sampled_from(["P0", "P1", "P2", "P3"]),
    st.sampled_from("abc"),
    st.just(0.0) | st.floats(NOW - DAY, NOW + DAY),
)
rooms = st.builds(
    WindowRoom,
    st.sampled_from(["five_hour", "seven_day"]),
    st.floats(0, 1.2),
    st.floats(0.01, 1),
    st.floats(NOW + 1, NOW + 7 * DAY),
    st.floats(HOUR, 7 * DAY),
    st.none() | st.builds(Rate, st.floats(0, 1e-4), st.none() | st.floats(0, 1)),
)
accounts = st.builds(
    Account, st.text(max_size=3), st.lists(rooms, max_size=2).map(tuple), st.floats(0, NOW + DAY)
)
capacities = st.builds(
    Capacity,
    st.integers(1, 4),
    st.lists(accounts, max_size=2).map(tuple),
    st.none() | st.floats(0, 100),
    st.floats(0, 100),
)


@given(st.lists(tasks_of_any_kind, max_size=12), st.lists(needs, max_size=3), capacities)
def test_no_task_ends_in_the_past(tasks: list[QueuedTask], running: list[Need], capacity: Capacity) -> None:
    """The end is not before now, not before any task alone, and without a budget there is always one."""
    schedule = simulate(tasks, running, capacity, NOW)
    assert schedule.count_starts(float("inf")) <= len(tasks)
    if schedule.done_at is None:
        assert capacity.day_usd is not None or schedule.reached_at is not None
    else:
        assert schedule.done_at >= max([NOW, *(max(NOW, one.earliest) + one.need.seconds for one in tasks)])


@given(st.lists(tasks_of_any_kind, min_size=1, max_size=12), capacities, st.data())
def test_more_tasks_never_end_earlier(
    tasks: list[QueuedTask], capacity: Capacity, data: st.DataObject
) -> None:
    """Whichever task is left out, the rest is through at the same time or earlier.

    With several accounts this holds for the last task only: which account a task uses depends on the others.
    """
    tasks = sorted(
        (replace(task, earliest=0.0) for task in tasks),
        key=lambda task: (task.priority, task.created_at, task.id),
    )
    last = len(tasks) - 1
    left_out = last if len(capacity.accounts) > 1 else data.draw(st.integers(0, last))
    more = simulate(tasks, [], capacity, NOW)
    fewer = simulate([*tasks[:left_out], *tasks[left_out + 1 :]], [], capacity, NOW)
    assert more.done_at is None or (fewer.done_at is not None and fewer.done_at <= more.done_at)


past_tasks = st.builds(
    PastTask,
    st.sampled_from(["small", "large"]),
    st.dictionaries(st.sampled_from(["implement", "test"]), needs),
)


@given(st.lists(past_tasks, max_size=8), capacities, st.integers(1, 30))
def test_any_history_gives_a_forecast(history: list[PastTask], capacity: Capacity, number: int) -> None:
    """No crash, the 90th percentile is not before the median, and every forecast has its text."""
    found = make_forecast(waiting(number), waiting(1, "large"), Estimator(history), capacity, NOW)
    assert found is not None and str(number) in text_of(found)
    if found.done_at is not None:
        assert found.done_at_p90 is not None and format_rfc3339(NOW) <= found.done_at <= found.done_at_p90
    if found.cost_usd is not None:
        assert found.cost_p90 is not None and 0 <= found.cost_usd <= found.cost_p90
