"""The feed as `ostler events` prints it (ostler.event/1)."""

from __future__ import annotations

from typing import Any

import msgspec

from ostler.clock import rfc3339
from ostler.model.event import FeedLine

Line = dict[str, Any]
"""One line as JSON has it: the envelope of the contract, then the event's own fields."""

_TIMES = ("resumes_at", "until")


def feed_json(line: FeedLine) -> Line:
    body: Line = msgspec.json.decode(line.body)
    kind = body.pop("type", "unknown")
    envelope: Line = {
        "schema": "ostler.event/1",
        "seq": line.position,
        "time": rfc3339(line.at),
        "task_id": line.task,
        "type": kind,
    }
    times = {name: rfc3339(body[name]) for name in _TIMES if body.get(name) is not None}
    return envelope | body | times
