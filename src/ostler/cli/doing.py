"""What a running task does at this moment, in words, and how long it takes still where that is known."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

from ostler.cli.text import fit, one_line, span
from ostler.clock import local_time
from ostler.files.layout import Layout
from ostler.model.ids import TaskId
from ostler.views.lanes import Lane

_BAR_COLUMNS = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_TAIL_BYTES = 2000
_CHORE_COLUMNS = 40  # the rest of the line says how far it is


def doing(lane: Lane, now: float, said: str = "", share: float | None = None) -> str:
    """In one line; `said` is the last line that a chore printed, `share` how much of it is done."""
    what = one_line(lane.doing) if lane.began is None else fit(one_line(lane.doing), _CHORE_COLUMNS)
    if lane.until is not None and lane.began is not None:
        share = (now - lane.began) / max(1.0, lane.until - lane.began)
        return f"{bar(share)} {what}, on again at {local_time(lane.until, now)}, {left(lane.until, now)}"
    if lane.began is None:
        return what
    shown = f"{bar(share)} {what}" if share is not None else what
    return ": ".join(part for part in (f"{shown}, for {span(now - lane.began)}", one_line(said)) if part)


def left(until: float, now: float) -> str:
    """How long still."""
    return f"in {countdown(until - now)}" if until > now else "now"


def countdown(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    whole = max(0, round(seconds))
    minutes = f"{whole // 60 % 60:02d}:{whole % 60:02d}"
    return f"{whole // 3600}:{minutes}" if whole >= 3600 else minutes.removeprefix("0")


def bar(share: float) -> str:
    """A bar that is filled so far."""
    eighths = round(max(0.0, min(1.0, share)) * _BAR_COLUMNS * 8)
    full, part = divmod(eighths, 8)
    drawn = "█" * full + (_EIGHTHS[part] if part else "")
    return f"▕{drawn:<{_BAR_COLUMNS}}▏"


def made_share(lane: Lane, layout: Layout) -> float | None:
    """How much of a worktree there is by now; None where none is being made."""
    if not lane.files:
        return None
    there = count_below(str(layout.worktree(TaskId(lane.task))), lane.files, int(time.time()))
    return there / lane.files


@lru_cache(maxsize=64)
def count_below(folder: str, most: int, second: int) -> int:
    """How many files are in a folder, `most` at most; counted once in a second."""
    count = 0
    for _, _, files in os.walk(folder):
        count += len(files)
        if count >= most:
            return most
    return count


def last_said(lane: Lane, layout: Layout) -> str:
    """The last line that the chore of a task has printed."""
    return last_line(layout.task(TaskId(lane.task)) / lane.log) if lane.log else ""


def last_line(log: Path) -> str:
    """The last thing that stands in a file which grows; empty while there is nothing."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").replace("\r", "\n").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
