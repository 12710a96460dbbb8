"""The forecast as a person sees it: in status, in a dry run and in JSON, from tasks that really ran."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime

import pytest

from ostler.model.limits.window import ReportedWindow, WindowUse
from ostler.store.accounts.sqlite import open_accounts
from world import World

HOUR = 3600.0


def complete(world: World, first: int, last: int) -> None:
    """Run tasks to their end; each costs half a dollar and takes a tenth of the window."""
    used = range(first, last + 1)
    world.behave(
        plan=[{"cost_usd": 0.5, "limits": {"five_hour": [one / 10 - 0.1, one / 10]}} for one in used]
    )
    for index in used:
        world.new(f"Past task {index}")
    world.ostler("run", "--all", "--jobs", "1")


def note_use(world: World, used: float) -> None:
    """Record another use of the window than the one after the last task."""
    with closing(open_accounts(world.environ)) as ledger:
        (use,) = ledger.windows(time.time())
        reported = ReportedWindow("five_hour", used, use.reported.resets_at, seconds=5 * HOUR)
        ledger.note_windows([WindowUse(use.window, reported, time.time(), use.label)])


@pytest.mark.full
def test_three_past_tasks_are_enough(world: World) -> None:
    """With fewer the screen has no forecast; then it shows the window, the end, the cost and the basis."""
    world.environ["OSTLER_RUN__JOBS"] = "1"
    complete(world, 1, 2)
    world.new("Past task 4")
    status = world.ostler("status").stdout
    assert "Forecast" not in status
    complete(world, 3, 3)
    for number in range(4):
        task = world.new(f"Next {number}")
    note_use(world, 0.70)
    forecast = world.json("status")["forecast"]
    assert (forecast["tasks_waiting"], forecast["basis"], forecast["is_known"]) == (4, 4, True)
    assert forecast["cost_usd"] == pytest.approx(2.0) and forecast["is_list_price"]
    assert (forecast["limited_by"], forecast["window"]) == ("window", "five_hour")
    (window,) = forecast["windows"]
    assert forecast["fit_until_reset"] == window["tasks"] == 2
    reset = datetime.fromisoformat(forecast["resets_at"])
    assert forecast["resets_at"] < forecast["done_at"] <= forecast["done_at_p90"]
    (line,) = [one for one in world.ostler("status").stdout.splitlines() if one.startswith("Forecast")]
    until = reset.astimezone().strftime("%H:%M")
    assert "4 tasks wait; the five-hour window allows about 2 until " in line
    assert until in line and line.endswith("about $2.00 at list prices (median of 4 past tasks).")
    dry = world.ostler("run", task, "--dry-run")
    assert "Forecast: 1 task waits; " in dry.stdout and "about $0.50 at list prices" in dry.stdout
    assert world.json("run", "-p", "New", "--weight", "small", "--dry-run")["forecast"]["tasks_waiting"] == 1


def test_an_attempt_records_its_windows(world: World) -> None:
    """`show --json` has the account, and the first and the last use of each window."""
    complete(world, 1, 1)
    (task,) = world.json("status")["tasks"]
    (attempt,) = world.show(task["id"])["attempts"]
    assert attempt["account"].startswith("claude")
    (window,) = attempt["windows"]
    assert (window["name"], window["first"], window["last"], window["reports"]) == ("five_hour", 0.0, 0.1, 2)


@pytest.mark.full
def test_the_budget_of_the_day_ends_first(world: World) -> None:
    """The line names the budget instead of the window.

    Tasks that depend on a paused one are named, and one of the year 9999 ends no status.
    """
    world.environ["TZ"] = f"NOON{datetime.now(UTC).hour - 12:+d}"  # no midnight during the test
    complete(world, 1, 3)
    for number in range(3):
        world.new(f"Next {number}")
    line = world.ostler("status", OSTLER_BUDGET__DAY_USD="2").stdout.splitlines()[-1]
    assert "3 tasks wait; the day's budget allows about 1 until " in line
    paused = world.new("Paused")
    world.ostler("pause", paused)
    world.new("Depends", "--after", paused)
    forecast = world.json("status")["forecast"]
    assert (forecast["tasks_waiting"], forecast["tasks_blocked"]) == (3, 1)
    assert forecast["text"].startswith("3 tasks wait and 1 depends on tasks that do not run; ")
    world.new("Far", "--not-before", "9999-12-31")
    last = world.ostler("status", OSTLER_BUDGET__DAY_USD="2").stdout.splitlines()[-1]
    assert "4 tasks wait and 1 depends" in last and "done in more than 60 days" in last


@pytest.mark.one_machine("in a cluster the settings say where the tasks are")
def test_without_valid_settings_there_is_no_forecast(world: World) -> None:
    """The tasks are listed all the same."""
    complete(world, 1, 3)
    world.new()
    (world.root / "ostler.toml").write_text("run.jobs = 0\n")
    shown = world.json("status")
    assert shown["tasks"] and shown["forecast"] is None
