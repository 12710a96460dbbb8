"""Retries are bounded: by the model, by the hour, by a circuit breaker, and by a crash loop."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from models_world import QUICK, add_tasks, called, codes, play, row, statuses, write_models
from world import World, bend, wait_until

SONNET = row("sonnet", "claude")
GPT = row("gpt", "codex")
PRIORITY = QUICK + '[selection]\nstrategy = "priority"\n'
SOON_MS = 1000


def test_an_agent_that_dies_at_once_is_not_started_for_ever(world: World) -> None:
    """A29: forty retries are allowed, but five crashes within a second each end it as CRASH_LOOP."""
    write_models(world, SONNET)
    world.environ |= {"OSTLER_RETRY__MAX_RETRIES": "40", "OSTLER_RETRY__MAX_DELAY_SECONDS": "0.02"}
    world.behave(fault="crash")
    task = world.new()
    printed = world.ostler("run", task, code=1)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("failed", "CRASH_LOOP")
    assert shown["message"].startswith("crashed within a second 5 times in a row; the last time: ")
    assert len(world.started()) == len(shown["attempts"]) == deaths_until_the_end(shown["attempts"])
    assert "start the agent by hand" in printed.stderr


def deaths_until_the_end(attempts: list[dict[str, Any]]) -> int:
    """Return the number of attempts until the last five were short; 5 except on a very busy machine."""
    short = [attempt["duration_ms"] < SOON_MS for attempt in attempts]
    return next(end for end in range(5, len(short) + 1) if all(short[end - 5 : end]))


def test_a_short_limit_is_waited_for_within_the_call(world: World) -> None:
    """C37: the provider asks for a second, the same model is called again after it, no task is deferred."""
    write_models(world, GPT)
    limit = {"fault": "api_error", "error_message": "try again in 1.2 seconds"}
    play(world, "codex", plan=[limit, limit, {}])
    (task,) = add_tasks(world, 1)
    world.ostler("run", task)
    shown = world.show(task)
    assert codes(shown) == [("codex", "RATE_LIMITED")] * 2 + [("codex", None)]
    starts = [datetime.fromisoformat(one["started_at"]).timestamp() for one in shown["attempts"]]
    assert starts[1] - starts[0] >= 1.2 and starts[2] - starts[1] >= 1.2
    kinds = [event["type"] for event in world.events(task)]
    assert kinds.count("wait_started") == kinds.count("wait_ended") == 2
    assert "task_deferred" not in kinds


@pytest.mark.one_machine("in a cluster the workers start a deferred task again when it is due")
def test_limits_without_end_use_up_the_repeats_and_then_defer(world: World) -> None:
    """Repeated short limits: 1 + max_retries calls, and the task waits as for a long one."""
    write_models(world, GPT)
    play(world, "codex", fault="api_error", error_message="try again in 0.1 seconds")
    (task,) = add_tasks(world, 1)
    world.ostler("run", task, code=5)
    assert world.show(task)["status"] == "deferred"
    assert len(called(world)) == 3


@pytest.mark.full
def test_the_repeats_of_an_hour_are_counted_over_all_runs(world: World) -> None:
    """C45: four retries are left: two for each of two tasks, and none for the third, in another process."""
    write_models(world, SONNET)
    world.environ["OSTLER_RETRY__BUDGET_PER_HOUR"] = "4"
    world.behave(fault="crash")
    world.ostler("run", *add_tasks(world, 2), code=1)
    assert len(called(world)) == 6
    (third,) = add_tasks(world, 1)
    world.ostler("run", third, code=1)
    assert len(called(world)) == 7
    assert world.show(third)["code"] == "AGENT_FAILED"


@pytest.mark.full
@pytest.mark.one_machine(
    "in a cluster the clock of PostgreSQL counts, and this test moves that of the machine"
)
def test_a_model_that_fails_three_times_rests_for_everyone(world: World) -> None:
    """C43, C44: it is shown, the next run does not call it, and after ten minutes one call tries it."""
    jump = bend(world)
    write_models(world, SONNET, GPT, more=PRIORITY)
    world.behave(plan=[*[{"fault": "crash"}] * 3, {}])
    play(world, "codex")
    world.ostler("run", *add_tasks(world, 1))
    assert called(world) == ["claude model-of-sonnet"] * 3 + ["codex model-of-gpt"]
    sonnet, gpt = world.json("models")["models"]
    assert (sonnet["state"], sonnet["code"], gpt["state"]) == ("cooldown", "AGENT_FAILED", "ready")
    assert "sonnet  3 x AGENT_FAILED" in world.ostler("models").stdout
    world.ostler("run", *add_tasks(world, 1))
    assert called(world)[4:] == ["codex model-of-gpt"]
    jump.write_text("700")
    world.ostler("run", *add_tasks(world, 1))
    assert called(world)[5:] == ["claude model-of-sonnet"]
    assert world.json("models")["models"][0]["state"] == "ready"


@pytest.mark.full
def test_a_pool_in_cooldown_defers_tasks_without_failing_them(world: World) -> None:
    """No call was made, so no task failed: the task waits for the end of the first cooldown."""
    write_models(world, SONNET, GPT, more=PRIORITY)
    world.behave(fault="crash")
    play(world, "codex", fault="crash")
    world.ostler("run", *add_tasks(world, 1), code=1)
    assert len(called(world)) == 6
    (second,) = add_tasks(world, 1)
    world.ostler("run", second, code=5)
    shown = world.show(second)
    assert (shown["status"], len(called(world))) == ("deferred", 6)
    assert shown["resumes_at"] and "sonnet: in cooldown until " in shown["message"]


def test_a_single_model_never_rests(world: World) -> None:
    """Failures of one task must not stop all others where there is no other model."""
    write_models(world, SONNET)
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "3"
    world.behave(plan=[*[{"fault": "crash"}] * 4, {}])
    world.ostler("run", *add_tasks(world, 1), code=1)
    (second,) = add_tasks(world, 1)
    world.ostler("run", second)
    assert codes(world.show(second)) == [("claude", None)]


def test_a_place_that_never_comes_free_is_reported_with_its_holder(world: World) -> None:
    """SLOT_TIMEOUT: the holder of the slot, and the next step; the holder continues."""
    quick = row("quick", "claude", timeout_seconds=0.3)
    write_models(world, row("slow", "claude"), quick, more=QUICK + "[pools.medium]\nsize = 1\n")
    world.behave(fault="a1_hangs")
    (holder,) = add_tasks(world, 1, model="slow")
    run = world.start("run", "--all", "-j", "2")
    wait_until(world.started, 30, "the agent did not start")
    (waiting,) = add_tasks(world, 1, model="quick")
    wait_until(lambda: statuses(world)["failed"], 30, "it waits without end")
    shown = world.show(waiting)
    assert shown["code"] == "SLOT_TIMEOUT" and shown["attempts"] == []
    assert f"its only slot is held by {holder}" in shown["message"]
    assert "raise pools.medium.size in ostler.toml" in shown["message"]
    world.ostler("cancel", holder)
    assert run.wait(30) == 1


@pytest.mark.full
def test_a_task_that_waits_for_a_slot_shows_its_holder(world: World) -> None:
    """In `show` while it waits; the task that has the slot waits for nothing."""
    write_models(world, SONNET, more=QUICK + "[pools.medium]\nsize = 1\n")
    world.behave(fault="a1_hangs")
    (holder,) = add_tasks(world, 1)
    run = world.start("run", "--all", "-j", "2")
    wait_until(world.started, 30, "the agent did not start")
    (waiting,) = add_tasks(world, 1)
    wait_until(lambda: world.show(waiting)["waiting"], 30, "it does not show what it waits for")
    assert world.show(waiting)["waiting"] == f"a slot in pool medium, held by {holder}"
    assert "  waits     a slot in pool medium" in world.ostler("show", waiting).stdout
    assert world.show(holder)["waiting"] is None
    world.ostler("cancel", waiting, holder)
    assert run.wait(30) == 1


def test_a_machine_without_memory_starts_nothing(world: World) -> None:
    """C56: SPAWN_FAILED with the numbers and the next step."""
    write_models(
        world, SONNET, more=QUICK + "min_free_memory_mb = 1000000000\n[run]\ntimeout_seconds = 0.5\n"
    )
    (task,) = add_tasks(world, 1)
    printed = world.ostler("run", task, code=1)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("failed", "SPAWN_FAILED")
    assert "MB of memory are available, 1000000000 MB must stay free" in shown["message"]
    assert "host.min_free_memory_mb" in shown["message"] and "close other programs" in printed.stderr
    assert world.started() == []
