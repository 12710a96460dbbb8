"""One recorded line as a person reads it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ostler.cli.text import fit, money, one_line, screen_width
from ostler.clock import local_time
from ostler.views.feed import Line

_ID_COLUMNS = 29  # the longest id that we make
_KIND_COLUMNS = 17
_FEW_ID_COLUMNS = 20  # in a narrow window
_ROOMY = 100
_MEMBERS = {
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


def sentence(line: Line) -> str:
    """Time of day, task, what happened, and the few fields that matter."""
    when = datetime.fromisoformat(line["time"]).astimezone().strftime("%H:%M:%S")
    what = str(line["type"]).replace("_", " ")
    said = one_line(_details(line))
    task, room = line["task_id"], _ID_COLUMNS if screen_width() >= _ROOMY else _FEW_ID_COLUMNS
    return f"{when}  {fit(task, room):<{room}}  {what:<{_KIND_COLUMNS}}  {said}".rstrip()


def _details(line: Line) -> str:
    if line["type"] == "task_created":
        return str(line["task"]["title"])
    if line["type"] == "work_rebased":
        return f"onto {line['base']:.10}, as {line['commit']:.10}"
    words = [form.format(line[name]) for name, form in _MEMBERS.items() if line.get(name)]
    return " ".join([*words, _until(line), _used(line.get("usage", {})), money(line.get("cost_usd"))])


def _until(line: Line) -> str:
    """When it goes on; an event's own time decides whether the day must be said."""
    when = line.get("resumes_at") or line.get("until")
    if not when:
        return ""
    at, now = (datetime.fromisoformat(text).timestamp() for text in (when, line["time"]))
    return f"until {local_time(at, now)}"


def _used(usage: dict[str, Any]) -> str:
    total = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    return f"{total} tokens" if total else ""
