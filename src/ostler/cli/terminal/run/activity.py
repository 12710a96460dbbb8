"""Describe what a running task is doing and how long it will take."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

from ostler.cli.terminal.run.bar import draw_bar
from ostler.cli.terminal.text import format_duration, to_one_line, truncate
from ostler.clock import format_local_time
from ostler.files.layout import Layout
from ostler.model.ids import TaskId
from ostler.views.lists.lanes import Lane

_TAIL_BYTES = 2000
# Leaves room for the progress of the step.
_STEP_COLUMNS = 40


def describe_activity(lane: Lane, now: float, last_output: str = "", share: float | None = None) -> str:
    """Return one line; `last_output` is the last line that the step printed, `share` its completed share."""
    what = to_one_line(lane.activity)
    what = what if lane.began is None else truncate(what, _STEP_COLUMNS)
    if lane.until is not None and lane.began is not None:
        share = (now - lane.began) / max(1.0, lane.until - lane.began)
        when = f"{format_local_time(lane.until, now)}, {format_remaining(lane.until, now)}"
        return f"{draw_bar(share)} {what}, resumes at {when}"
    if lane.began is None:
        return what
    shown = f"{draw_bar(share)} {what}" if share is not None else what
    return ": ".join(
        part
        for part in (f"{shown}, for {format_duration(now - lane.began)}", to_one_line(last_output))
        if part
    )


def format_remaining(until: float, now: float) -> str:
    """Return the time that remains, such as "in 5:00"."""
    return f"in {format_countdown(until - now)}" if until > now else "now"


def format_countdown(seconds: float) -> str:
    """Return minutes and seconds, with hours when needed: "4:05", "1:04:05"."""
    whole = max(0, round(seconds))
    minutes = f"{whole // 60 % 60:02d}:{whole % 60:02d}"
    return f"{whole // 3600}:{minutes}" if whole >= 3600 else minutes.removeprefix("0")


def worktree_share(lane: Lane, layout: Layout) -> float | None:
    """Return how much of a worktree is checked out; None when none is being created."""
    if not lane.files:
        return None
    count = count_files(str(layout.worktree(TaskId(lane.task))), lane.files, int(time.time()))
    return count / lane.files


@lru_cache(maxsize=64)
def count_files(folder: str, limit: int, second: int) -> int:
    """Return the number of files in a folder, at most `limit`; cached per second."""
    count = 0
    for _, _, files in os.walk(folder):
        count += len(files)
        if count >= limit:
            return limit
    return count


def read_last_output(lane: Lane, layout: Layout) -> str:
    """Return the last line that the current step of a task printed."""
    return read_last_line(layout.task(TaskId(lane.task)) / lane.log) if lane.log else ""


def read_last_line(log: Path) -> str:
    """Return the last non-empty line of a growing file; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").replace("\r", "\n").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
