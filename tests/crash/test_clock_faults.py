"""A clock that jumps ten days, between runs and during one: order is by number, time is only shown (B12)."""

from __future__ import annotations

import shutil

import pytest

from nemesis import run_under
from oracle import check_all_done
from world import World, bend, wait_until

needs_faketime = pytest.mark.skipif(not shutil.which("faketime"), reason="faketime is not installed")
DAY = 86_400


@needs_faketime
@pytest.mark.full
def test_runs_under_different_clocks_share_one_journal(world: World) -> None:
    """Ten days ahead, then ten days back, git and agents included: every task completes."""
    tasks = []
    for jump in ("+10d", "-10d"):
        tasks.append(world.new("As the clock says"))
        tasks.append(
            run_under(world, ["faketime", "-f", jump], "new", "As the other clock says").stdout.strip()
        )
        done = run_under(world, ["faketime", "-f", jump], "run", "--all")
        assert done.returncode == 0, done.stderr
    check_all_done(world, tasks)
    check_history(world)
    assert "ago" in world.ostler("status").stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize("days", [10, -10])
def test_a_jump_during_a_run_changes_nothing(world: World, days: int) -> None:
    """No timeout is early or late, no duration is negative, and the next task is started at once."""
    jump = bend(world)
    world.behave(delay_seconds=0.7)
    world.environ["OSTLER_RUN__TIMEOUT_SECONDS"] = "60"
    tasks = [world.new("First"), world.new("Second")]
    run = world.start("run", "--all", "-j", "1")
    wait_until(world.started, 30, "the agent did not start")
    jump.write_text(str(days * DAY))
    assert run.wait(60) == 0
    jump.write_text("0")
    check_all_done(world, tasks)
    check_history(world)
    assert len(world.started()) == 2


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize("days", [10, -10])
def test_a_rest_of_seconds_does_not_become_ten_days(world: World, days: int) -> None:
    """A task that was deferred under a wrong clock is started as soon as the clock is right."""
    jump = bend(world)
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(plan=[{"fault": "api_error", "error": 429}, {}])
    task = world.new()
    jump.write_text(str(days * DAY))
    world.ostler("run", "--all", code=5)
    assert world.show(task)["status"] == "deferred"
    jump.write_text("0")
    world.ostler("run", "--all")
    check_all_done(world, [task])


def check_history(world: World) -> None:
    """Events are numbered without a gap for any times, and no duration is negative."""
    events = world.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    for found in world.json("status")["tasks"]:
        for attempt in world.show(found["id"])["attempts"]:
            assert 0 <= attempt["duration_ms"] < 60_000
