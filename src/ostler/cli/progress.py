"""The progress of a run: a line per task on a terminal, plain lines elsewhere, NDJSON for scripts."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ostler.cli.doing import doing, last_said, left, made_share
from ostler.cli.out import emit
from ostler.cli.sentence import sentence
from ostler.cli.text import fit, hanging, money, span, terminal_width, tokens, width
from ostler.clock import local_time, rfc3339
from ostler.files.layout import Layout
from ostler.views.feed import Line
from ostler.views.lanes import ENDINGS, Lane, Lanes

if TYPE_CHECKING:
    from rich.text import Text


class Progress(Protocol):
    """Shown the feed of a run, line by line."""

    def take(self, line: Line, at: float) -> None: ...

    def beat(self, now: float) -> None:
        """Time goes by."""
        ...


class JsonProgress:
    """Every line of the feed, for scripts."""

    def take(self, line: Line, at: float) -> None:
        emit(line)

    def beat(self, now: float) -> None:
        """Scripts have their own clock."""


_TOLD = {
    "task_claimed",
    "iteration_started",
    "attempt_started",
    "tool_used",
    "wait_started",
    "still_busy",
    "agent_quiet",
    "agent_warned",
    "budget_warned",
    "model_woke",
    "session_replaced",
    "work_adjusted",
    "checkpoint_made",
    "gate_decided",
    "phase_retried",
    "work_rebased",
    "published",
    "source_told",
    "source_not_told",
    "decision_recorded",
    "task_reopened",
    *ENDINGS,
}


_SILENCE_SECONDS = 60.0
_INDENT = 10  # below the task


class PlainProgress:
    """One line per thing that happened, for logs and pipes; after a silent minute, one per running task."""

    def __init__(self) -> None:
        self._board = Lanes()
        self._told_at = time.time()

    def take(self, line: Line, at: float) -> None:
        self._board.take(line, at)
        if line["type"] in _TOLD or _went_wrong(line):
            self._tell(line, at)

    def beat(self, now: float) -> None:
        """Say who is at work, so that a long silence does not look like a standstill."""
        if now - self._told_at >= _SILENCE_SECONDS:
            for lane in self._board.lanes.values():
                self._tell(_still_working(lane, now), now)

    def _tell(self, line: Line, at: float) -> None:
        self._told_at = at
        sys.stdout.write(hanging(sentence(line), _INDENT) + "\n")
        sys.stdout.flush()


def _still_working(lane: Lane, now: float) -> Line:
    task, where, since, used, _ = _facts(lane, now)
    chore = doing(lane, now) if lane.began is not None else ""
    detail = ", ".join(part for part in (where, f"for {since}", used, chore) if part)
    return {"type": "still_working", "time": rfc3339(now), "task_id": task, "detail": detail}


def _went_wrong(line: Line) -> bool:
    """An attempt that failed, so that the next one is no surprise."""
    return line["type"] == "attempt_ended" and line.get("code") is not None


class LiveProgress:
    """One line per running task, drawn again as it changes."""

    def __init__(self, waiting: Mapping[str, float], layout: Layout) -> None:
        self._board = Lanes()
        self._board.waiting.update(waiting)
        self._layout = layout

    def take(self, line: Line, at: float) -> None:
        self._board.take(line, at)

    def beat(self, now: float) -> None:
        """It is drawn ten times a second anyway."""

    def __rich__(self) -> Text:
        from rich.text import Text  # noqa: PLC0415

        now = time.time()
        lines = Text(no_wrap=True, overflow="ellipsis")
        lanes = list(self._board.lanes.values())
        for lane, facts in zip(lanes, _aligned([_facts(lane, now) for lane in lanes]), strict=True):
            lines.append(_spinner(now) + " ", style="cyan")
            lines.append(facts)
            room = max(8, terminal_width() - width(facts) - 3)
            said, share = last_said(lane, self._layout), made_share(lane, self._layout)
            lines.append(fit(doing(lane, now, said, share), room) + "\n", style="dim")
        lines.append(_countdown(self._board.waiting, now), style="yellow")
        return lines


def _countdown(waiting: Mapping[str, float], now: float) -> str:
    """When the first of the tasks that a limit holds goes on; empty when there is none."""
    if not waiting:
        return ""
    first = min(waiting.values())
    who = "1 task waits" if len(waiting) == 1 else f"{len(waiting)} tasks wait"
    return f"{who} for a limit to end; on again at {local_time(first, now)}, {left(first, now)}\n"


def _facts(lane: Lane, now: float) -> tuple[str, ...]:
    used = f"{tokens(lane.tokens)} tokens" if lane.tokens else ""
    where = f"{lane.phase} {lane.iteration or ''}".rstrip()
    return lane.task, where, span(now - lane.since), used, money(lane.cost_usd)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Each row on one line, in columns; a column that is empty in all rows takes no room."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "".join(f"{cell:<{width + 2}}" for cell, width in zip(row, widths, strict=True) if width)
        for row in rows
    ]


def _spinner(now: float) -> str:
    return "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[int(now * 10) % 10]


@contextmanager
def showing(
    as_json: bool, waiting: Mapping[str, float], layout: Layout, drawn: bool = True
) -> Generator[Progress]:
    """The progress that fits whoever is looking; without `drawn`, lines that stay where they are.

    `waiting` are tasks that a limit holds already, and until when.
    """
    if as_json:
        yield JsonProgress()
    elif not (drawn and draws()):
        sys.stdout.write(_countdown(waiting, time.time()))
        sys.stdout.flush()
        yield PlainProgress()
    else:
        from rich.console import Console  # noqa: PLC0415
        from rich.live import Live  # noqa: PLC0415

        progress = LiveProgress(waiting, layout)
        with Live(progress, console=Console(), refresh_per_second=10, transient=True):
            yield progress


def give_cursor_back() -> None:
    """For an end that leaves no time to take the drawing down."""
    if draws():
        os.write(1, b"\x1b[?25h")  # sys.stdout is the drawing's own meanwhile


def draws() -> bool:
    """Whether there is a terminal that can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
