"""The loop of `ostler watch`: read changes, draw, handle keys."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing

from msgspec.structs import replace
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ostler.cli.watch.board import Board
from ostler.cli.watch.handle_key import Row, Screen, ViewState, handle_key, matches_filter, selected_index
from ostler.cli.watch.keys import Keyboard, Quit, Suspended, block_signals, handle_signals, raw_mode
from ostler.cli.watch.pages import Pages
from ostler.cli.watch.screen import count_page_lines, render_list, render_page
from ostler.project.project import Project

_TERMINAL = 0
_REFRESH_SECONDS = 0.25


def watch(project: Project) -> int:
    """Show all tasks until the user quits, restore the terminal and return the exit code."""
    with closing(Board(project)) as board:
        watcher = Watcher(project, board, Console())
        while True:
            try:
                watcher.run()
            except Suspended:
                os.kill(os.getpid(), signal.SIGSTOP)
            except Quit as end:
                return end.code
            else:
                return 0


class Watcher:
    """Holds the screen's state between keys."""

    def __init__(self, project: Project, board: Board, console: Console) -> None:
        self._project = project
        self._board = board
        self._console = console
        self._screen = Screen()
        self._pages = Pages(project)

    def _open(self) -> Live:
        """Open the alternate screen."""
        return Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def run(self) -> None:
        """Take over the terminal until the user quits, and restore it in every case."""
        with (
            block_signals(),
            raw_mode(_TERMINAL) as keyboard,
            self._open() as live,
            handle_signals(keyboard),
        ):
            self._loop(keyboard, live)

    def _loop(self, keyboard: Keyboard, live: Live) -> None:
        while self._screen.page != "gone":
            self._board.poll()
            rows = self._rows()
            lines = self._draw(rows)
            live.update(Text("\n", no_wrap=True, overflow="crop").join(lines), refresh=True)
            for key in keyboard.wait(_REFRESH_SECONDS):
                self._handle_key(key)

    def _rows(self) -> list[Row]:
        """Return the rows that match the filter; the selected task stays selected when it moves."""
        filter_text = self._screen.filter
        rows = (
            [row for row in self._board.rows if matches_filter(row, filter_text)]
            if filter_text
            else self._board.rows
        )
        task = rows[selected_index(self._screen, rows)].id if rows and self._screen.page == "list" else ""
        self._screen = replace(self._screen, task=task or self._screen.task)
        return rows

    def _draw(self, rows: list[Row]) -> list[Text]:
        size = self._console.size
        if self._screen.page == "list":
            return render_list(self._board, rows, self._screen, size, time.time())
        title, lines = self._pages.read(self._screen.page, self._screen.task, size.width)
        last = max(0, len(lines) - count_page_lines(size.height))
        where = last if self._screen.top is None else min(self._screen.top, last)
        return render_page(title, lines, self._screen, size, where)

    def _handle_key(self, key: str) -> None:
        size = self._console.size
        view = ViewState(self._rows(), self._pages.length, count_page_lines(size.height))
        self._screen, request = handle_key(self._screen, key, view)
        if request is not None:
            from ostler.cli.watch.actions import run_action  # noqa: PLC0415

            self._screen = replace(self._screen, message=run_action(self._project, request))
            self._board.poll(force=True)
