"""The record of a task for other programs: versioned NDJSON, or a trajectory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import to_builtins

from ostler import __version__
from ostler.clock import rfc3339
from ostler.project.bundle import Bundle
from ostler.views.atif import Turn, trajectory

SCHEMA = "ostler.export/1"


def export_lines(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """A document per line: a head, what was asked, every event, prompt and story entry, the diff, an end."""
    count = 1
    for line in _lines(bundle):
        count += 1
        yield line
    yield {"kind": "end", "lines": count}


def _lines(bundle: Bundle) -> Iterator[dict[str, Any]]:
    head = {"schema": SCHEMA, "kind": "task", "version": __version__, "exported_at": rfc3339(time.time())}
    yield head | {"task": bundle.task()}
    yield {"kind": "request", "request": bundle.request()}
    for event in bundle.events():
        yield {"kind": "event", "event": event}
    for prompt in bundle.prompts():
        yield {"kind": "prompt", **to_builtins(prompt)}
    for attempt in bundle.view.attempts:
        for entry in bundle.story(attempt):
            yield {"kind": "story", "attempt": attempt.number, "entry": entry}
    if patch := bundle.patch():
        yield {"kind": "diff", "patch": patch}


def export_trajectory(bundle: Bundle) -> dict[str, Any]:
    """The same as ATIF, for tools that compare or learn from what agents do."""
    prompts = {prompt.attempt: prompt.text for prompt in bundle.prompts()}
    turns = [
        Turn(
            prompt=prompts[attempt.number],
            model=attempt.model,
            began_at=datetime.fromisoformat(attempt.started_at).timestamp(),
            entries=bundle.story(attempt),
        )
        for attempt in bundle.view.attempts
    ]
    return trajectory(bundle.task(), turns, bundle.events(), __version__)
