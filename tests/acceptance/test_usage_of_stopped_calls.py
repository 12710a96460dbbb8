"""The usage of an agent counts for every end of its call: the sum of the attempts is the task's."""

from __future__ import annotations

from typing import Any

import pytest

from world import INTERRUPT, KILL, World, end, wait_until


def sums(shown: dict[str, Any]) -> dict[str, int]:
    """Return the tokens of all attempts together, by kind."""
    usages = [attempt["usage"] for attempt in shown["attempts"]]
    return {kind: sum(usage[kind] for usage in usages) for kind in shown["usage"]}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [INTERRUPT, KILL])
def test_the_first_attempt_of_a_stopped_call_is_paid_for(world: World, number: int) -> None:
    """It failed after its answer and so used tokens; the second was running when the run was ended."""
    world.behave(plan=[{"fault": "a18_after_result"}, {"fault": "a1_hangs"}, {}])
    task = world.new()
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 2, 30, "the second attempt did not start")
    end(run, number)
    if number == INTERRUPT:
        stopped = world.show(task)
        assert stopped["usage"]["input_tokens"] > 0
        assert stopped["usage"] == sums(stopped)
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], len(shown["attempts"])) == ("completed", 3)
    assert shown["usage"] == sums(shown)
    costs = [attempt["cost_usd"] or 0.0 for attempt in shown["attempts"]]
    assert shown["cost_usd"] == pytest.approx(sum(costs)) and shown["cost_usd"] > 0


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [INTERRUPT, KILL])
def test_a_stopped_reviewer_is_paid_for(world: World, number: int) -> None:
    """Its first answer was unreadable, and its second call was running when the run was ended."""
    world.environ["OSTLER_GATES__DEFAULT"] = "ai"
    yes = '{"verdict": "approved", "reason": "fine", "findings": []}'
    world.behave(plan=[{}, {"text": "well, well"}, {"fault": "a1_hangs"}, {"text": yes}])
    task = world.new()
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 3, 60, "the reviewer was not asked again")
    end(run, number)
    for _ in range(2):
        shown = world.show(task)
        assert shown["usage"] == sums(shown)
        costs = [attempt["cost_usd"] or 0.0 for attempt in shown["attempts"]]
        assert shown["cost_usd"] == pytest.approx(sum(costs)) and min(costs[:2]) > 0
        world.ostler("run", task)
    (listed,) = world.json("status")["tasks"]
    assert shown["status"] == "completed"
    assert (listed["usage"], listed["cost_usd"]) == (shown["usage"], pytest.approx(shown["cost_usd"]))
