"""One recorded line as a person reads it, for what people and gates say."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.cli.board import ENDINGS, Board
from ostler.cli.sentence import sentence

ID = "mend-the-gate-ab12"


def line(kind: str, **fields: Any) -> dict[str, Any]:
    return {"time": "2030-01-31T10:00:00.000Z", "task_id": ID, "type": kind, **fields}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (line("gate_waiting", phase="implement", reason="look at it"), "gate waiting implement look at it"),
        (
            line("gate_decided", phase="test", gate="command", verdict="fail", reason="2 failed"),
            "gate decided command test fail 2 failed",
        ),
        (line("phase_retried", phase="test", to="implement", attempt=1), "phase retried test to implement"),
        (
            line("work_rebased", commit="a" * 40, base="b" * 40),
            "work rebased onto bbbbbbbbbb, as aaaaaaaaaa",
        ),
        (line("published", how="pr", pr_url="https://x/1"), "published pr https://x/1"),
        (line("published", how="pr", note="there is no remote"), "published pr there is no remote"),
        (line("decision_recorded", verb="reject", text="too long"), "decision recorded reject too long"),
        (line("decision_recorded", verb="skip", phase="test", text="x"), "decision recorded skip test x"),
        (line("task_reopened", by="dependency"), "task reopened by dependency"),
        (line("agent_reported", attempt=1, status="paused", reason="lunch"), "agent reported paused lunch"),
    ],
)
def test_the_fields_that_matter_stand_in_reading_order(told: dict[str, Any], words: str) -> None:
    """After the time and the id."""
    assert " ".join(sentence(told).split()[2:]) == words


def test_a_task_that_waits_for_a_person_leaves_the_board() -> None:
    """Nothing runs for it; a deferred one that is paused is not counted as waiting either."""
    board = Board()
    board.take(line("task_claimed", run="r"), 1.0)
    assert list(board.lanes) == [ID]
    board.take(line("gate_waiting", phase="implement"), 2.0)
    assert board.lanes == {} and ENDINGS["gate_waiting"] == "needs_review"
    board.take(line("task_deferred", resumes_at="2030-01-31T10:00:00.000Z"), 3.0)
    assert list(board.waiting) == [ID]
    board.take(line("decision_recorded", verb="pause"), 4.0)
    assert board.waiting == {}


@pytest.mark.parametrize(
    ("told", "doing"),
    [
        (line("gate_decided", verdict="fail", reason="2 failed"), "gate: fail 2 failed"),
        (line("gate_decided", verdict="pass"), "gate: pass"),
        (line("phase_retried", phase="test", to="implement"), "back to implement"),
        (line("work_rebased", commit="c", base="d"), "rebased onto d"),
        (line("published", how="merge"), "published: merge"),
    ],
)
def test_the_lane_of_a_task_says_what_became_of_its_work(told: dict[str, Any], doing: str) -> None:
    """In a few words, until the next call."""
    board = Board()
    board.take(line("task_claimed", run="r"), 1.0)
    board.take(told, 2.0)
    assert board.lanes[ID].doing == doing
