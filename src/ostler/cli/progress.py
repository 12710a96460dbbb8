"""The progress of a run: a line per task on a terminal, plain lines elsewhere, NDJSON for scripts."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ostler.cli.board import ENDINGS, Board
from ostler.cli.out import emit
from ostler.cli.sentence import sentence
from ostler.cli.text import fit, money, printable, span, terminal_width, tokens
from ostler.views.feed import Line

if TYPE_CHECKING:
    from rich.text import Text


class Progress(Protocol):
    """Shown the feed of a run, line by line."""

    def take(self, line: Line, at: float) -> None: ...


class JsonProgress:
    """Every line of the feed, for scripts."""

    def take(self, line: Line, at: float) -> None:
        emit(line)


_TOLD = {"task_claimed", "iteration_started", "attempt_started", "tool_used", "checkpoint_made", *ENDINGS}


class PlainProgress:
    """One line per thing that happened, for logs and pipes."""

    def take(self, line: Line, at: float) -> None:
        if line["type"] in _TOLD:
            sys.stdout.write(sentence(line) + "\n")
            sys.stdout.flush()


class LiveProgress:
    """One line per running task, drawn again as it changes."""

    def __init__(self) -> None:
        self._board = Board()

    def take(self, line: Line, at: float) -> None:
        self._board.take(line, at)

    def __rich__(self) -> Text:
        from rich.text import Text  # noqa: PLC0415

        now = time.time()
        lines = Text(no_wrap=True, overflow="ellipsis")
        room = max((len(task) for task in self._board.lanes), default=0)
        for lane in self._board.lanes.values():
            facts = f"{lane.phase} {lane.iteration or ''}".ljust(13)
            numbers = f"{span(now - lane.since):>6}  {tokens(lane.tokens):>6} tok  {money(lane.cost_usd):>6}"
            lines.append(_spinner(now) + " ", style="cyan")
            lines.append(f"{lane.task:<{room}}  {facts}{numbers}  ")
            left = terminal_width() - room - len(facts) - len(numbers) - 8
            lines.append(fit(printable(lane.doing), max(8, left)) + "\n", style="dim")
        return lines


def _spinner(now: float) -> str:
    return "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[int(now * 10) % 10]


@contextmanager
def showing(as_json: bool) -> Generator[Progress]:
    """The progress that fits whoever is looking."""
    if as_json:
        yield JsonProgress()
    elif not sys.stdout.isatty():
        yield PlainProgress()
    else:
        from rich.console import Console  # noqa: PLC0415
        from rich.live import Live  # noqa: PLC0415

        progress = LiveProgress()
        with Live(progress, console=Console(), refresh_per_second=10, transient=True):
            yield progress
