"""The feed as `ostler events` prints it (ostler.event/1)."""

from __future__ import annotations

from typing import Any

import msgspec

from ostler.clock import format_rfc3339
from ostler.model.event import FeedLine

EventJson = dict[str, Any]
"""One line of the feed as JSON: the common fields, then those of the event."""

_TIMES = ("resumes_at", "until")


def feed_json(line: FeedLine) -> EventJson:
    body: EventJson = msgspec.json.decode(line.body)
    kind = body.pop("type", "unknown")
    envelope: EventJson = {
        "schema": "ostler.event/1",
        "seq": line.position,
        "time": format_rfc3339(line.at),
        "task_id": line.task,
        "type": kind,
    }
    times = {name: format_rfc3339(body[name]) for name in _TIMES if body.get(name) is not None}
    return envelope | body | times
