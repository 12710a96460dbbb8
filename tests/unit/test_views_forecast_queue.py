"""The forecast: the simulated queue."""

from __future__ import annotations

from datetime import datetime

import pytest

from forecasts import DAY, HOUR, NOW, forecast, past, room, text_of, waiting
from ostler.clock import format_rfc3339
from ostler.store.spending import next_day_start
from ostler.views.forecast.forecast import WaitingTask, make_forecast
from ostler.views.forecast.needs import Estimator, Need, PastTask
from ostler.views.forecast.schedule import Account, Capacity, QueuedTask, simulate
from ostler.views.forecast.text import add_text


def test_the_example_of_the_wish() -> None:
    """Fourteen tasks, six fit until the reset, the others after it; the text has all of it."""
    capacity = Capacity(2, (Account("claude", (room(0.30, 0.01),)),))
    found = forecast(waiting(14), capacity)
    assert (found.fit_until_reset, found.window, found.limited_by) == (6, "five_hour", "window")
    assert found.resets_at == format_rfc3339(NOW + 2 * HOUR)
    # Eight tasks of ten minutes, two at a time, after the reset.
    assert found.done_at == format_rfc3339(NOW + 2 * HOUR + 40 * 60) == found.done_at_p90
    assert (found.cost_usd, found.basis) == (140, 3)
    text = text_of(found)
    assert text.startswith("14 tasks wait; the five-hour window allows about 6 until ")
    assert text.endswith(", about $140.00 (median of 3 past tasks)")


def test_everything_fits() -> None:
    """Without a block the window is named with its reset, and how many tasks of this size would fit."""
    capacity = Capacity(1, (Account("claude", (room(0.0, 0.01), room(0.9, 0.001, name="seven_day"))),))
    found = forecast(waiting(3), capacity)
    assert (found.limited_by, found.fit_until_reset, found.window) == (None, 3, "seven_day")
    assert [(one.window, one.tasks) for one in found.windows] == [("five_hour", 9), ("seven_day", 5)]
    assert "the weekly window is enough; if started now, done" in text_of(found, is_active=False)


def test_a_window_of_unknown_rate() -> None:
    """It stops tasks above the limit, and allows them below; no number of tasks is invented."""
    free = forecast(waiting(2), Capacity(1, (Account("claude", (room(0.5, rate=None),)),)))
    assert (free.fit_until_reset, free.window, free.windows[0].tasks) == (None, None, None)
    full = forecast(waiting(2), Capacity(1, (Account("claude", (room(0.97, rate=None),)),)))
    assert (full.fit_until_reset, full.limited_by) == (0, "window")


def test_the_day_budget_ends_first() -> None:
    """It allows a P2 task up to 90 % of it; the others start after midnight, a day's share at a time."""
    capacity = Capacity(1, (), 50.0, 10.0, lambda at: at + 6 * HOUR)
    found = forecast(waiting(9), capacity)
    assert (found.limited_by, found.fit_until_reset, found.window) == ("budget", 4, None)
    assert "the day's budget allows about 4 until " in text_of(found)
    assert found.done_at == format_rfc3339(NOW + 6 * HOUR + 5 * 600)


def test_a_budget_of_nothing_ends_never() -> None:
    found = forecast(waiting(1), Capacity(1, (), 0.0))
    assert found.done_at is None and found.fit_until_reset == 0
    assert "no end, because the day's budget allows no task" in text_of(found)


def test_a_closed_account_and_another_one() -> None:
    """Tasks wait for a closed account only when no other account can take them."""
    closed = Account("claude", closed_until=NOW + HOUR)
    found = forecast(waiting(1), Capacity(1, (closed,)))
    assert (found.limited_by, found.done_at) == ("closed", format_rfc3339(NOW + HOUR + 600))
    assert "claude accepts no calls until " in text_of(found)
    assert forecast(waiting(1), Capacity(1, (closed, Account("codex")))).limited_by is None


def test_a_task_that_exceeds_a_window_starts_in_a_new_one() -> None:
    """Otherwise it would never start."""
    need = Need(60, 0, 100)
    schedule = simulate([QueuedTask("a", need)], [], Capacity(1, (Account("x", (room(0.1, 0.1),)),)), NOW)
    assert schedule.done_at == NOW + 2 * HOUR + 60


def test_tasks_that_were_deferred_because_of_the_window() -> None:
    """The window that rejected them is the limit, although they are not due before its reset."""
    capacity = Capacity(1, (Account("claude", (room(1.0, 0.001),)),))
    found = forecast(waiting(3, earliest=NOW + 2 * HOUR), capacity)
    assert (found.limited_by, found.fit_until_reset) == ("window", 0)
    assert "the five-hour window allows none until " in text_of(found)
    assert found.done_at == format_rfc3339(NOW + 2 * HOUR + 1800)


def test_a_task_that_just_fits() -> None:
    """Rounding does not exclude it: the simulation and the number of each window agree."""
    found = forecast(waiting(2), Capacity(1, (Account("claude", (room(0.15, 0.08),)),)))
    assert 0.15 + 0.08 * 10 > 0.95  # in floating point
    assert found.fit_until_reset == found.windows[0].tasks == 1


def test_urgent_tasks_first_and_none_before_its_time() -> None:
    """P0 starts before P2; a deferred task occupies no slot while it waits."""
    tasks = [
        QueuedTask("late", Need(60), "P0", earliest=NOW + 100),
        QueuedTask("low", Need(3600), "P2"),
        QueuedTask("high", Need(30), "P1"),
    ]
    schedule = simulate(tasks, [], Capacity(1), NOW)
    assert (schedule.done_at, schedule.last) == (NOW + 30 + 3600 + 60, "late")


def test_running_tasks_hold_their_slots() -> None:
    schedule = simulate([QueuedTask("a", Need(10))], [Need(100), Need(200)], Capacity(2), NOW)
    assert schedule.done_at == NOW + 200
    assert simulate([QueuedTask("a", Need(150))], [Need(100)] * 2, Capacity(1), NOW).done_at == NOW + 250


def test_a_long_queue_is_merged() -> None:
    """Ten thousand tasks take as long as ten thousand tasks, and as many fit as fit."""
    capacity = Capacity(4, (Account("claude", (room(0.0, 0.0001),)),))
    found = forecast(waiting(10_000), capacity, *past("small", 1, 1, 1))
    assert found.tasks_waiting == 10_000 and found.cost_usd == pytest.approx(10_000)
    assert found.done_at == format_rfc3339(NOW + 2500 * 60)
    # In two hours, four at a time; of the last ones some start later.
    assert found.fit_until_reset is not None and 480 <= found.fit_until_reset <= 480 + 4 * 50
    assert found.limited_by is None


@pytest.mark.parametrize(("share", "used"), [(0.02, 0.07), (0.4, 0.5), (0.1, 0.07), (0.001, 0.0)])
@pytest.mark.parametrize("day_usd", [None, 300.0])
def test_a_group_takes_as_long_as_its_tasks(share: float, used: float, day_usd: float | None) -> None:
    """With windows and a budget: 150 equal tasks as one group, and one by one."""
    capacity = Capacity(3, (Account("claude", (room(used, share / 10),)),), day_usd, 35.0)
    need = Need(600, 0, 10)
    single = simulate([QueuedTask(f"{index:03}", need) for index in range(150)], [], capacity, NOW)
    group = simulate([QueuedTask("all", need, tasks=150)], [], capacity, NOW)
    assert single.block == group.block and single.done_at is not None and group.done_at is not None
    assert group.done_at - NOW == pytest.approx(single.done_at - NOW, rel=0.02)
    for hours in (1, 2, 30):
        counts = [one.count_starts(NOW + hours * HOUR) for one in (single, group)]
        assert counts[1] == pytest.approx(counts[0], abs=3)


def test_one_task_more_changes_little() -> None:
    """The 101st task is not simulated one by one; 9 tasks fit into each window."""
    capacity = Capacity(2, (Account("claude", (room(0.0, 0.1),)),))
    seconds: list[float] = []
    for number in (99, 108, 297):
        done_at = forecast(waiting(number), capacity, *past("small", 1, 1, 1)).done_at
        assert done_at is not None
        seconds.append(datetime.fromisoformat(done_at).timestamp() - NOW)
    assert seconds[1] - seconds[0] == pytest.approx(5 * HOUR, abs=120)
    assert seconds[2] - seconds[0] == pytest.approx(22 * 5 * HOUR, abs=120)


def test_a_queue_of_months_has_no_end() -> None:
    """The text names the days that were calculated instead of a date."""
    capacity = Capacity(2, (Account("claude", (room(0.0, 0.1),)),))
    found = forecast(waiting(10_000), capacity, *past("small", 1, 1, 1))
    assert (found.done_at, found.done_at_p90, found.more_than_days) == (None, None, 60)
    assert "; done in more than 60 days, about $10000.00 (" in text_of(found)


def test_a_task_of_the_year_9999() -> None:
    """It is not simulated: the day after it does not exist."""
    far = 253_402_214_400.0
    capacity = Capacity(1, (), 50.0, 0.0, next_day_start)
    found = forecast([*waiting(1), *waiting(1, earliest=far)], capacity)
    assert (found.done_at, found.more_than_days, found.fit_until_reset) == (None, 60, None)


def test_a_window_that_is_kept_for_the_person() -> None:
    """With keep_for_me = 1 no task starts in a window, even if nothing of it is used."""
    found = forecast(waiting(1), Capacity(1, (Account("claude", (room(0.0, limit=0.0),)),)))
    assert (found.limited_by, found.fit_until_reset) == ("window", 0)


def test_tasks_of_the_last_priority_wait_for_a_reset() -> None:
    """With use_before_reset they start that long before it; others start at once."""
    account = Account("claude", (room(0.1, 0.001),))
    capacity = Capacity(1, (account,), early_seconds=HOUR)
    found = forecast(waiting(1, priority="P3"), capacity)
    assert (found.limited_by, found.done_at) == ("early", format_rfc3339(NOW + HOUR + 600))
    assert "; P3 and P4 tasks start before a reset, from " in text_of(found)
    assert forecast(waiting(1), capacity).limited_by is None
    tasks = [QueuedTask(f"{index:02}", Need(600), "P3") for index in range(30)]
    single = simulate(tasks, [], capacity, NOW)
    assert (
        simulate([QueuedTask("all", Need(600), "P3", tasks=30)], [], capacity, NOW).done_at == single.done_at
    )


def test_two_models_share_the_windows_of_their_account() -> None:
    """A full weekly window of one model leaves the other one, and the common window counts once."""
    common, weekly = room(0.30, 0.01), room(1.0, 0.01, name="seven_day_opus", resets_at=NOW + DAY)
    capacity = Capacity(2, (Account("claude", (common, weekly)), Account("claude", (common,))))
    found = forecast(waiting(14), capacity)
    assert (found.fit_until_reset, found.window) == (6, "five_hour")
    assert [one.window for one in found.windows] == ["five_hour", "seven_day_opus"]


def test_the_template_has_no_times() -> None:
    """A browser fills them in for its own time zone."""
    found = forecast(waiting(14), Capacity(2, (Account("claude", (room(0.30, 0.01),)),)))
    template = add_text(found, NOW, is_active=True).template
    assert "allows about 6 until {resets_at}; done about {done_at}, about $140.00" in template


@pytest.mark.parametrize(("usd", "text"), [(0.0, ""), (0.001, ", less than $0.01"), (0.02, ", about $0.02")])
def test_a_cost_of_nothing_is_not_shown(usd: float, text: str) -> None:
    tasks = [PastTask("small", {"implement": Need(60, 10, usd)}) for _ in range(3)]
    sentence = text_of(forecast(waiting(1), Capacity(1), *tasks))
    assert sentence.partition("done about ")[2].partition(" (")[0].removesuffix(text).count("$") == 0
    assert text in sentence


def test_the_first_tasks_have_a_place_and_a_start() -> None:
    """By priority and place, each when the one before is done; one that waits for a time has no place."""
    tasks = [
        WaitingTask("soon", "small", ("implement",), "P0", "2", NOW + 0.5),
        WaitingTask("late", "small", ("implement",), "P0", "2", NOW + DAY),
        WaitingTask("second", "small", ("implement",), "P2", "2"),
        WaitingTask("first", "small", ("implement",), "P2", "1"),
    ]
    known = make_forecast(tasks, [], Estimator(past("small", 1, 2, 3)), Capacity(1), NOW)
    assert known is not None
    places = {"first": 1, "second": 2, "soon": None, "late": None}
    assert {one.id: one.place for one in known.queue} == places
    assert [one.id for one in known.queue] == ["first", "soon", "second", "late"]
    assert known.queue[2].starts_at == format_rfc3339(NOW + 240)
    unknown = make_forecast(tasks, [], Estimator([]), Capacity(1), NOW)
    assert unknown is not None
    assert {one.id: one.place for one in unknown.queue} == places
    assert all(one.starts_at is None for one in unknown.queue)
