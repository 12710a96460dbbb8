"""The running tasks, folded from the feed."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.views.lists.lanes import ENDINGS, Lanes

ID = "mend-the-gate-ab12"


def line(kind: str, **fields: Any) -> dict[str, Any]:
    return {"time": "2030-01-31T10:00:00.000Z", "task_id": ID, "type": kind, **fields}


def test_a_task_that_waits_for_a_person_leaves_the_lanes() -> None:
    """The task does not run; a deferred one that is paused does not count as waiting either."""
    lanes = Lanes()
    lanes.apply(line("task_claimed", run="r"), 1.0)
    assert list(lanes.lanes) == [ID]
    lanes.apply(line("gate_waiting", phase="implement"), 2.0)
    assert lanes.lanes == {} and ENDINGS["gate_waiting"] == "needs_review"
    lanes.apply(line("task_deferred", resumes_at="2030-01-31T10:00:00.000Z"), 3.0)
    assert list(lanes.waiting) == [ID]
    lanes.apply(line("decision_recorded", verb="pause"), 4.0)
    assert lanes.waiting == {}


@pytest.mark.parametrize(
    ("reported", "doing"),
    [
        (line("gate_decided", verdict="fail", reason="2 failed"), "gate: fail 2 failed"),
        (line("gate_decided", verdict="pass"), "gate: pass"),
        (line("phase_retried", phase="test", to="implement"), "test returns the work to implement"),
        (line("work_rebased", commit="c", base="d"), "rebased onto d"),
        (line("published", how="merge"), "published: merge"),
    ],
)
def test_the_lane_of_a_task_shows_what_became_of_its_work(reported: dict[str, Any], doing: str) -> None:
    """In a few words, until the next call."""
    lanes = Lanes()
    lanes.apply(line("task_claimed", run="r"), 1.0)
    lanes.apply(reported, 2.0)
    assert lanes.lanes[ID].activity == doing


def test_a_wait_and_a_chore_are_known_by_when_they_began() -> None:
    """The time is shown until the next step begins; a tool of an agent has no such time."""
    lanes = Lanes()
    lanes.apply(line("task_claimed", run="r"), 1.0)
    lanes.apply(line("step_progress", message="runs `npm ci`", log="workspace.log", files=7), 3.0)
    busy = lanes.lanes[ID]
    assert (busy.activity, busy.began, busy.log, busy.files) == ("runs `npm ci`", 3.0, "workspace.log", 7)
    lanes.apply(line("task_started"), 4.0)
    assert (lanes.lanes[ID].activity, lanes.lanes[ID].began, lanes.lanes[ID].files) == ("", None, 0)
    lanes.apply(line("wait_started", until="2030-01-31T10:00:00.000Z", reason="a limit"), 5.0)
    assert (lanes.lanes[ID].activity, lanes.lanes[ID].until) == ("waiting: a limit", 1896084000.0)
    lanes.apply(line("wait_started", reason="a place"), 6.0)
    assert (lanes.lanes[ID].began, lanes.lanes[ID].until) == (6.0, None)
    lanes.apply(line("tool_used", tool="Edit", detail="x.py"), 7.0)
    assert (lanes.lanes[ID].activity, lanes.lanes[ID].began) == ("edit x.py", None)
    lanes.apply(line("attempt_started", number=1), 8.0)
    assert lanes.lanes[ID].activity == "edit x.py"
