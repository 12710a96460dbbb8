"""Show the progress of a run: a line per task on a terminal, plain lines elsewhere, NDJSON for scripts."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ostler.cli.terminal.output import print_json
from ostler.cli.terminal.run.activity import (
    describe_activity,
    format_remaining,
    read_last_output,
    worktree_share,
)
from ostler.cli.terminal.run.event_line import format_event
from ostler.cli.terminal.text import (
    display_width,
    format_duration,
    format_tokens,
    format_usd,
    terminal_width,
    truncate,
    wrap_hanging,
)
from ostler.clock import format_local_time, format_rfc3339
from ostler.files.layout import Layout
from ostler.views.feed import EventJson
from ostler.views.lists.lanes import ENDINGS, Lane, Lanes

if TYPE_CHECKING:
    from rich.text import Text


class Progress(Protocol):
    """Receives the feed of a run, line by line."""

    def handle(self, line: EventJson, at: float) -> None: ...

    def tick(self, now: float) -> None:
        """Called about ten times a second."""
        ...


class JsonProgress:
    """Prints every line of the feed as JSON."""

    def handle(self, line: EventJson, at: float) -> None:
        print_json(line)

    def tick(self, now: float) -> None:
        """Scripts get events only."""


_PRINTED_TYPES = {
    "task_claimed",
    "iteration_started",
    "attempt_started",
    "tool_used",
    "wait_started",
    "step_progress",
    "agent_idle",
    "agent_warned",
    "access_refused",
    "budget_warned",
    "model_cooldown",
    "model_recovered",
    "session_replaced",
    "concurrency_reduced",
    "checkpoint_made",
    "gate_decided",
    "phase_retried",
    "work_rebased",
    "published",
    "source_updated",
    "source_update_failed",
    "decision_recorded",
    "task_reopened",
    "task_edited",
    *ENDINGS,
}


_SILENT_SECONDS = 60.0
# The column of the task id.
_INDENT = 10


class PlainProgress:
    """Prints one line per event, for logs and pipes; after a silent minute, one per running task."""

    def __init__(self) -> None:
        self._lanes = Lanes()
        self._printed_at = time.time()

    def handle(self, line: EventJson, at: float) -> None:
        self._lanes.apply(line, at)
        if (line["type"] in _PRINTED_TYPES or _is_failed_attempt(line)) and not _is_unchecked(line):
            self._print(line, at)

    def tick(self, now: float) -> None:
        """Print the running tasks after a silent minute, so that the run does not look stuck."""
        if now - self._printed_at >= _SILENT_SECONDS:
            for lane in self._lanes.lanes.values():
                self._print(_still_working(lane, now), now)

    def _print(self, line: EventJson, at: float) -> None:
        self._printed_at = at
        sys.stdout.write(wrap_hanging(format_event(line), _INDENT) + "\n")
        sys.stdout.flush()


def _still_working(lane: Lane, now: float) -> EventJson:
    task, where, since, used, _ = _format_cells(lane, now)
    activity = describe_activity(lane, now) if lane.began is not None else ""
    detail = ", ".join(part for part in (where, f"for {since}", used, activity) if part)
    kind = "still_waiting" if lane.waits else "still_working"
    return {"type": kind, "time": format_rfc3339(now), "task_id": task, "detail": detail}


def _is_unchecked(line: EventJson) -> bool:
    """Return whether it is the verdict of a gate that checks nothing; `ostler show` has it."""
    return line["type"] == "gate_decided" and line.get("verdict") == "not_checked" and not line.get("reason")


def _is_failed_attempt(line: EventJson) -> bool:
    """Return whether an attempt failed, which explains the next attempt."""
    return line["type"] == "attempt_ended" and line.get("code") is not None


class LiveProgress:
    """Draws one line per running task and redraws it as it changes."""

    def __init__(self, waiting: Mapping[str, float], layout: Layout) -> None:
        self._lanes = Lanes()
        self._lanes.waiting.update(waiting)
        self._layout = layout
        self.print_above: Callable[[str], None] | None = None  # prints a line that stays on the screen

    def handle(self, line: EventJson, at: float) -> None:
        self._lanes.apply(line, at)
        if line["type"] == "access_refused" and self.print_above:
            self.print_above(wrap_hanging(format_event(line), _INDENT))

    def tick(self, now: float) -> None:
        """rich redraws it ten times a second."""

    def __rich__(self) -> Text:
        from rich.text import Text  # noqa: PLC0415

        now = time.time()
        lines = Text(no_wrap=True, overflow="ellipsis")
        lanes = list(self._lanes.lanes.values())
        for lane, facts in zip(
            lanes, _align_columns([_format_cells(lane, now) for lane in lanes]), strict=True
        ):
            lines.append(_spinner_frame(now) + " ", style="cyan")
            lines.append(facts)
            room = max(8, terminal_width() - display_width(facts) - 3)
            last_output, share = read_last_output(lane, self._layout), worktree_share(lane, self._layout)
            lines.append(truncate(describe_activity(lane, now, last_output, share), room) + "\n", style="dim")
        lines.append(_format_wait(self._lanes.waiting, now), style="yellow")
        return lines


def _format_wait(waiting: Mapping[str, float], now: float) -> str:
    """Return when the first deferred task resumes; empty when there is none."""
    if not waiting:
        return ""
    first = min(waiting.values())
    who = "1 task is deferred" if len(waiting) == 1 else f"{len(waiting)} tasks are deferred"
    when = f"{format_local_time(first, now)}, {format_remaining(first, now)}"
    return f"{who}; resumes at {when}\n"


def _format_cells(lane: Lane, now: float) -> tuple[str, ...]:
    used = f"{format_tokens(lane.tokens)} tokens" if lane.tokens else ""
    where = f"{lane.phase} {lane.iteration or ''}".rstrip()
    return lane.task, where, format_duration(now - lane.since), used, format_usd(lane.cost_usd)


def _align_columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Format each row in aligned columns; a column that is empty in all rows is left out."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "".join(f"{cell:<{width + 2}}" for cell, width in zip(row, widths, strict=True) if width)
        for row in rows
    ]


def _spinner_frame(now: float) -> str:
    return "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[int(now * 10) % 10]


@contextmanager
def open_progress(
    as_json: bool, waiting: Mapping[str, float], layout: Layout, live: bool = True
) -> Generator[Progress]:
    """Yield the progress for this output; without `live`, plain lines also on a terminal.

    `waiting` maps tasks that are already deferred to the time they resume.
    """
    if as_json:
        yield JsonProgress()
    elif not (live and can_draw()):
        sys.stdout.write(_format_wait(waiting, time.time()))
        sys.stdout.flush()
        yield PlainProgress()
    else:
        from rich.console import Console  # noqa: PLC0415
        from rich.live import Live  # noqa: PLC0415

        progress, console = LiveProgress(waiting, layout), Console()
        progress.print_above = lambda text: console.print(text, markup=False, highlight=False)
        with Live(progress, console=console, refresh_per_second=10, transient=True):
            yield progress


def restore_cursor() -> None:
    """Show the cursor again when the process ends without closing the display."""
    if can_draw():
        # rich has replaced sys.stdout.
        os.write(1, b"\x1b[?25h")


def can_draw() -> bool:
    """Return whether stdout is a terminal that supports redrawing."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
