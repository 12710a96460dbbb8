"""One recorded line as a person reads it."""

from __future__ import annotations

from ostler.cli.text import printable
from ostler.views.feed import Line

_ORDER = (
    "phase",
    "iteration",
    "number",
    "executor",
    "tool",
    "detail",
    "verdict",
    "status",
    "code",
    "message",
    "commit",
)


def sentence(line: Line) -> str:
    """Time of day, task, what happened, and the few fields that matter."""
    when = str(line["time"])[11:19]
    what = str(line["type"]).replace("_", " ")
    return printable(f"{when}  {line['task_id']}  {what}  {_details(line)}").rstrip()


def _details(line: Line) -> str:
    if line["type"] == "task_created":
        return str(line["task"]["title"])
    return " ".join(_short(name, line[name]) for name in _ORDER if line.get(name) not in (None, ""))


def _short(name: str, value: object) -> str:
    return str(value)[:10] if name == "commit" else str(value)
