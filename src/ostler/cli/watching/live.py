"""The live screen of `ostler watch`: look, draw, take a key, until the person leaves."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing

from msgspec.structs import replace
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ostler.cli.watching.board import Board
from ostler.cli.watching.keys import Keyboard, Left, Suspended, held_back, let_through, raw_mode
from ostler.cli.watching.pages import Pages
from ostler.cli.watching.press import Row, Screen, Sight, chosen, matches, press
from ostler.cli.watching.screen import list_screen, page_room, page_screen
from ostler.project.project import Project

_TERMINAL = 0
_LOOK_SECONDS = 0.25


def watch(project: Project) -> int:
    """Show all tasks until the person leaves; the exit code. The terminal is left as it was found."""
    with closing(Board(project)) as board:
        watcher = Watcher(project, board, Console())
        while True:
            try:
                watcher.stay()
            except Suspended:
                os.kill(os.getpid(), signal.SIGSTOP)
            except Left as end:
                return end.code
            else:
                return 0


class Watcher:
    """What is seen, from one key to the next."""

    def __init__(self, project: Project, board: Board, console: Console) -> None:
        self._project = project
        self._board = board
        self._console = console
        self._screen = Screen()
        self._pages = Pages(project)

    def _open(self) -> Live:
        """A screen of our own, which gives way to what was there before."""
        return Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def stay(self) -> None:
        """Take the terminal, and give it back however this ends."""
        with (
            held_back(),
            raw_mode(_TERMINAL) as keyboard,
            self._open() as live,
            let_through(keyboard),
        ):
            self._look_on(keyboard, live)

    def _look_on(self, keyboard: Keyboard, live: Live) -> None:
        while self._screen.page != "gone":
            self._board.poll()
            rows = self._rows()
            lines = self._draw(rows)
            live.update(Text("\n", no_wrap=True, overflow="crop").join(lines), refresh=True)
            for key in keyboard.wait(_LOOK_SECONDS):
                self._press(key)

    def _rows(self) -> list[Row]:
        """Those that are asked for; the one that was chosen stays so, wherever it goes."""
        wanted = self._screen.filter
        rows = [row for row in self._board.rows if matches(row, wanted)] if wanted else self._board.rows
        task = rows[chosen(self._screen, rows)].id if rows and self._screen.page == "list" else ""
        self._screen = replace(self._screen, task=task or self._screen.task)
        return rows

    def _draw(self, rows: list[Row]) -> list[Text]:
        size = self._console.size
        if self._screen.page == "list":
            return list_screen(self._board, rows, self._screen, size, time.time())
        title, lines = self._pages.read(self._screen.page, self._screen.task, size.width)
        last = max(0, len(lines) - page_room(size.height))
        where = last if self._screen.top is None else min(self._screen.top, last)
        return page_screen(title, lines, self._screen, size, where)

    def _press(self, key: str) -> None:
        size = self._console.size
        sight = Sight(self._rows(), self._pages.length, page_room(size.height))
        self._screen, act = press(self._screen, key, sight)
        if act is not None:
            from ostler.cli.watching.act import carry_out  # noqa: PLC0415  (half a second, for looking on only)

            self._screen = replace(self._screen, said=carry_out(self._project, act))
            self._board.poll(at_once=True)
