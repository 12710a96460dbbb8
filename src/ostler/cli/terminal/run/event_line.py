"""Format a recorded event as one line."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ostler.cli.terminal.text import format_usd, screen_width, to_one_line, truncate
from ostler.clock import format_local_time
from ostler.views.describe import describe_fields
from ostler.views.feed import EventJson

# The longest generated id.
_ID_COLUMNS = 29
_TYPE_COLUMNS = 17
_NARROW_ID_COLUMNS = 20
_WIDE_COLUMNS = 100
_FIELD_FORMATS = {
    "number": "#{}",
    "how": "{}",
    "verb": "{}",
    "by": "by {}",
    "gate": "{}",
    "phase": "{}",
    "to": "to {}",
    "iteration": "iteration {}",
    "executor": "with {}",
    "resumed": "(resumed)",
    "denied": "(denied)",
    "tool": "{}",
    "detail": "{}",
    "seconds": "for {} s",
    "verdict": "{}",
    "status": "{}",
    "source": "{}",
    "code": "{}",
    "message": "{}",
    "reason": "{}",
    "text": "{}",
    "note": "{}",
    "pr_url": "{}",
    "commit": "{:.10}",
}
_SENTENCES = ("message", "reason", "text", "note")


def format_event(line: EventJson) -> str:
    """Return time of day, task, event type and the main fields."""
    when = datetime.fromisoformat(line["time"]).astimezone().strftime("%H:%M:%S")
    what = str(line["type"]).replace("_", " ")
    details = to_one_line(_format_details(line))
    task, columns = line["task_id"], _ID_COLUMNS if screen_width() >= _WIDE_COLUMNS else _NARROW_ID_COLUMNS
    return f"{when}  {truncate(task, columns):<{columns}}  {what:<{_TYPE_COLUMNS}}  {details}".rstrip()


def _format_details(line: EventJson) -> str:
    if line["type"] == "task_created":
        return str(line["task"]["title"])
    if line["type"] == "task_claimed":
        return f"by {line['host']}" if line.get("host") else ""
    if line["type"] == "task_edited":
        return line["text"] + (f" ({line['by']})" if line.get("by") else "")
    if line["type"] == "access_refused":
        return describe_fields(line)
    if line["type"] == "work_rebased":
        return f"onto {line['base']:.10}, as {line['commit']:.10}"
    if line["type"] == "decision_recorded" and line.get("attempt"):
        line = {**line, "phase": f"attempt {line['attempt']}"}
    if line["type"] == "attempt_started" and line.get("model"):
        # Several models can share an executor.
        line = {**line, "executor": f"{line['executor']} {line['model']}"}
    fields = _format_fields(line)
    return " ".join(
        [*fields, _format_until(line), _format_usage(line.get("usage", {})), format_usd(line.get("cost_usd"))]
    )


def _format_fields(line: EventJson) -> list[str]:
    """Return the fields in their order, with a colon between a name or a code and the sentence after it."""
    names = [name for name in _FIELD_FORMATS if line.get(name)]
    fields = [_FIELD_FORMATS[name].format(line[name]) for name in names]
    first = next((index for index, name in enumerate(names) if name in _SENTENCES), 0)
    return [f"{field}:" if index == first - 1 else field for index, field in enumerate(fields)]


def _format_until(line: EventJson) -> str:
    """Return when the task resumes, with the day when that is another day than the event's."""
    when = line.get("resumes_at") or line.get("until")
    if not when:
        return ""
    at, now = (datetime.fromisoformat(text).timestamp() for text in (when, line["time"]))
    return f"until {format_local_time(at, now)}"


def _format_usage(usage: dict[str, Any]) -> str:
    total = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    return f"{total} tokens" if total else ""
