"""Budgets: the limits of a task and a day hold over iterations, fallbacks and retries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from models_world import QUICK, add_tasks, called, row, statuses, write_models
from world import STOP, World, end, wait_until

SONNET = row("sonnet", "claude")
OPUS = row("opus", "claude", fallback=True)
BUSY = {"fault": "api_error", "error": 529}


def goes_on(usd: float) -> dict[str, object]:
    """A call with this cost that is not the last."""
    return {"fault": "no_mark", "edits": {}, "cost_usd": usd}


def noon(world: World) -> None:
    """Return a time zone where it is about noon now, so that no test passes midnight."""
    world.environ["TZ"] = f"NOON{datetime.now(UTC).hour - 12:+d}"


@pytest.mark.parametrize("whose", ["task", "settings"])
def test_a_dollar_over_a_fallback_to_a_dearer_model(world: World, whose: str) -> None:
    """X8: it is exceeded by one call at most, and the task waits for a person with exit 5."""
    budget = "[budget]\ntask_usd = 1.0\n" if whose == "settings" else ""
    write_models(world, SONNET, OPUS, more=QUICK + budget)
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(plan=[goes_on(0.6), BUSY, goes_on(0.9), goes_on(0.9)])
    task = world.new("Spend", *(("--budget-usd", "1") if whose == "task" else ()))
    done = world.ostler("run", task, code=5)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("paused", "BUDGET_EXCEEDED")
    assert called(world) == ["claude model-of-sonnet"] * 2 + ["claude model-of-opus"]
    assert shown["cost_usd"] == pytest.approx(1.5)
    assert shown["message"].startswith("the task's budget of $1.00 is used up: $1.50 spent")
    assert "--budget-usd" in done.stderr and f"ostler retry {task}" in done.stderr


def test_retry_gives_more_money(world: World) -> None:
    """Without it no call is made; with it the task continues, and its earlier cost counts."""
    world.behave(plan=[goes_on(0.6), goes_on(0.6), {"cost_usd": 0.3}])
    task = world.new("Spend", "--budget-usd", "1")
    world.ostler("run", task, code=5)
    world.ostler("retry", task)
    world.ostler("run", task, code=5)
    assert len(world.started()) == 2
    world.ostler("retry", task, "--budget-usd", "0", code=2)
    world.ostler("retry", task, "--budget-usd", "2")
    assert "Budget: $2.00." in world.ostler("show", task).stdout
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert world.json("cost")["total"]["cost_usd"] == pytest.approx(1.5)


def test_the_setting_can_be_raised_instead(world: World) -> None:
    """A task without its own budget follows [budget]."""
    world.behave(plan=[goes_on(0.6), {"cost_usd": 0.3}])
    task = world.new("Spend")
    world.ostler("run", task, code=5, OSTLER_BUDGET__TASK_USD="0.5")
    world.ostler("retry", task)
    world.ostler("run", task, OSTLER_BUDGET__TASK_USD="5")
    assert world.show(task)["status"] == "completed"


def test_a_budget_can_fail_the_task(world: World) -> None:
    """on_exceed = "fail": failed, exit 1."""
    world.behave(plan=[goes_on(0.6)])
    task = world.new("Spend", "--budget-usd", "0.5")
    world.ostler("run", task, code=1, OSTLER_BUDGET__ON_EXCEED="fail")
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("failed", "BUDGET_EXCEEDED")
    assert len(world.started()) == 1


@pytest.mark.full
def test_the_days_money_is_kept_for_what_matters(world: World) -> None:
    """From 80 % on P3 waits for the next day, from 100 % on every task does, or until it is raised."""
    write_models(world, SONNET, more=QUICK + "[budget]\nday_usd = 1.0\n")
    noon(world)
    world.behave(cost_usd=0.85)
    world.ostler("run", world.new("First"))
    (small,) = add_tasks(world, 1, priority="P3")
    world.ostler("run", small, code=5)
    shown = world.show(small)
    assert (shown["status"], shown["code"]) == ("deferred", "BUDGET_EXCEEDED")
    assert shown["message"].startswith("P3 waits: 80 % of the day's budget of $1.00 are spent ($0.85)")
    waits = datetime.fromisoformat(shown["resumes_at"]) - datetime.now(UTC)
    assert timedelta(hours=10) < waits < timedelta(hours=13)
    (urgent,) = add_tasks(world, 1, priority="P0")
    world.ostler("run", urgent)
    assert "budget_warned" in [event["type"] for event in world.events(urgent)]
    (last,) = add_tasks(world, 1, priority="P0")
    world.ostler("run", last, code=5)
    shown = world.show(last)
    assert (shown["status"], shown["code"]) == ("deferred", "BUDGET_EXCEEDED")
    assert datetime.fromisoformat(shown["resumes_at"]) > datetime.now(UTC)
    assert len(world.started()) == 2
    assert "raise budget.day_usd; then   ostler config accept" in world.ostler("show", last).stdout
    write_models(world, SONNET, more=QUICK + "[budget]\nday_usd = 100.0\n")
    world.ostler("run", "--all")
    assert statuses(world) == {"completed": 2, "deferred": 2}
    world.ostler("config", "accept")
    world.ostler("run", "--all")
    assert statuses(world) == {"completed": 4}


@pytest.mark.full
def test_a_worker_continues_when_the_days_budget_is_raised(world: World) -> None:
    """The worker prints the next command, and continues after it without a restart."""
    write_models(world, SONNET, more=QUICK + "[budget]\nday_usd = 1.0\n")
    noon(world)
    world.behave(cost_usd=0.6)
    add_tasks(world, 5, priority="P0")
    child = world.start("worker", "-j", "1")
    wait_until(lambda: statuses(world)["deferred"] == 3, 60, "the budget is not used up")
    write_models(world, SONNET, more=QUICK + "[budget]\nday_usd = 100.0\n")
    out = world.root.parent
    read = lambda: (out / "out.txt").read_text() + (out / "err.txt").read_text()  # noqa: E731
    wait_until(lambda: "Not accepted" in read(), 30, "the worker does not report the settings")
    assert statuses(world)["deferred"] == 3
    world.ostler("config", "accept")
    wait_until(lambda: statuses(world)["completed"] == 5, 60, "the worker does not continue")
    end(child, STOP)
    assert "Not accepted for 3 open tasks.  Next: ostler config accept" in read()


@pytest.mark.full
def test_many_at_once_overrun_the_day_by_one_call_each(world: World) -> None:
    """Four in parallel, each call a quarter of the day: never more than four calls beyond the budget."""
    write_models(world, SONNET, more=QUICK + "[budget]\nday_usd = 1.0\n")
    noon(world)
    world.behave(cost_usd=0.25)
    add_tasks(world, 12, priority="P0")
    world.ostler("run", "--all", "-j", "4", code=5)
    found = statuses(world)
    assert 4 <= len(world.started()) <= 7 and found["completed"] == len(world.started())
    assert found["deferred"] == 12 - found["completed"]
