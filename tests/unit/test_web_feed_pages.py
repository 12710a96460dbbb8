"""The events that the server sends."""

from __future__ import annotations

import msgspec
import pytest

from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.web.feed_pages import event_json


@pytest.mark.parametrize(
    ("body", "occasion"),
    [
        ({"type": "gate_waiting", "phase": "test"}, "needs_you"),
        ({"type": "task_completed"}, "completed"),
        ({"type": "task_failed", "code": "STUCK"}, "failed"),
        ({"type": "task_paused", "message": "paused by a person"}, None),
        ({"type": "task_created", "held": False}, None),
        ({"type": "tool_used", "tool": "Bash"}, None),
    ],
)
def test_an_event_names_the_occasion_of_a_notification(body: dict[str, object], occasion: str | None) -> None:
    """The same that [[notify]] has; what the person does needs none."""
    line = FeedLine(1, 0.0, TaskId("t"), msgspec.Raw(msgspec.json.encode(body)))
    assert event_json(line).get("occasion") == occasion


def test_a_tool_has_the_verb_of_the_transcript() -> None:
    """The cards of the board show it."""
    body = msgspec.Raw(b'{"type": "tool_used", "tool": "Bash"}')
    assert event_json(FeedLine(1, 0.0, TaskId("t"), body))["verb"] == "run"
