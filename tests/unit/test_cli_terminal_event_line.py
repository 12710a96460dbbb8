"""The line of a recorded event, for decisions and gates."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.cli.terminal.run.event_line import format_event

ID = "mend-the-gate-ab12"


def line(kind: str, **fields: Any) -> dict[str, Any]:
    return {"time": "2030-01-31T10:00:00.000Z", "task_id": ID, "type": kind, **fields}


@pytest.mark.parametrize(
    ("reported", "words"),
    [
        (line("gate_waiting", phase="implement", reason="look at it"), "gate waiting implement: look at it"),
        (
            line("gate_decided", phase="test", gate="command", verdict="fail", reason="2 failed"),
            "gate decided command test fail: 2 failed",
        ),
        (line("phase_retried", phase="test", to="implement", attempt=1), "phase retried test to implement"),
        (
            line("work_rebased", commit="a" * 40, base="b" * 40),
            "work rebased onto bbbbbbbbbb, as aaaaaaaaaa",
        ),
        (line("published", how="pr", pr_url="https://x/1"), "published pr https://x/1"),
        (line("published", how="pr", note="there is no remote"), "published pr: there is no remote"),
        (line("decision_recorded", verb="reject", text="too long"), "decision recorded reject: too long"),
        (line("decision_recorded", verb="skip", phase="test", text="x"), "decision recorded skip test: x"),
        (
            line("attempt_started", number=2, phase="test", executor="claude", model="opus", resumed=True),
            "attempt started #2 test with claude opus (resumed)",
        ),
        (
            line("attempt_started", number=1, phase="test", executor="claude", model=""),
            "attempt started #1 test with claude",
        ),
        (line("task_edited", by="set", text="model: a -> b"), "task edited model: a -> b (set)"),
        (line("task_claimed", host=""), "task claimed"),
        (line("task_claimed", host="alpha-4f19c2"), "task claimed by alpha-4f19c2"),
        (line("task_reopened", by="dependency"), "task reopened by dependency"),
        (line("agent_reported", attempt=1, status="paused", reason="lunch"), "agent reported paused: lunch"),
    ],
)
def test_the_main_fields_are_in_reading_order(reported: dict[str, Any], words: str) -> None:
    """They follow the time and the id."""
    assert " ".join(format_event(reported).split()[2:]) == words
