"""The day's budget and pipelines: at each level steps are deferred, the least urgent ones first."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from document_world import DocumentWorld, writing

STEPS = "".join(
    f"      - {{id: step-{p.lower()}, skill: copy, goal: Step {p}, priority: {p}}}\n"
    for p in ("P0", "P1", "P2", "P3")
)
PIPELINE = f"on_failure: continue\nconcurrency: 4\nsteps:\n  - parallel:\n{STEPS}"
C, D = "completed", "deferred"


@pytest.mark.parametrize(
    ("spent", "ends"),
    [
        (0.79, (C, C, C, C)),
        (0.80, (C, C, C, D)),
        (0.90, (C, C, D, D)),
        (0.95, (C, D, D, D)),
        (1.00, (D, D, D, D)),
    ],
)
@pytest.mark.sampled(2)
def test_levels_decide_by_priority(tmp_path: Path, spent: float, ends: tuple[str, ...]) -> None:
    """C79: allowed, or deferred to the next day; never failed."""
    world = DocumentWorld(tmp_path)
    world.environ["TZ"] = f"NOON{datetime.now(UTC).hour - 12:+d}"  # no test passes midnight
    world.environ["OSTLER_BUDGET__DAY_USD"] = "1.0"
    world.pipeline("four", PIPELINE)
    world.behave(cost_usd=spent)
    world.ostler("run", world.new("Spend", "--executor", "claude"))
    with writing(world) as llm:
        world.ostler("pipeline", "run", "four", code=None)
        run = world.json("pipeline", "status")["pipelines"][0]["run"]
        steps = {step["id"]: step for step in world.json("pipeline", "status", run)["steps"]}
        assert tuple(steps[f"step-p{number}"]["status"] for number in range(4)) == ends
        assert len(llm.requests) == ends.count(C)
        assert {step["code"] for step in steps.values() if step["status"] != C} <= {"BUDGET_EXCEEDED"}
    world.close()


def test_what_gave_way_goes_on_when_there_is_money_again(tmp_path: Path) -> None:
    """The rest of the run waits for it, and is made from its document then."""
    world = DocumentWorld(tmp_path)
    world.environ["TZ"] = f"NOON{datetime.now(UTC).hour - 12:+d}"
    world.pipeline("two", "steps:\n  - {id: first, skill: copy, priority: P3}\n  - summary\n")
    world.behave(cost_usd=0.85)
    world.ostler("run", world.new("Spend", "--executor", "claude"))
    with writing(world):
        world.ostler("pipeline", "run", "two", code=5, OSTLER_BUDGET__DAY_USD="1.0")
        before = {task["step"]: task for task in world.json("status")["tasks"] if task.get("step")}
        assert (before["first"]["status"], before["summary"]["status"]) == ("deferred", "pending")
        world.ostler("config", "accept", OSTLER_BUDGET__DAY_USD="10.0")
        world.ostler("run", "--all", OSTLER_BUDGET__DAY_USD="10.0")
        after = {task["step"]: task["status"] for task in world.json("status")["tasks"] if task.get("step")}
        assert after == {"first": C, "summary": C}
    world.close()
