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

from ostler.cli.review.sent import describe_sent
from ostler.cli.terminal.output import print_hint
from ostler.cli.watch.actions import Held, can_be_held, hold_action, join_error, run_action, send_held
from ostler.cli.watch.board import Board
from ostler.cli.watch.handle_key import (
    ActionRequest,
    Row,
    Screen,
    ViewState,
    follow_selection,
    handle_key,
    matches_filter,
)
from ostler.cli.watch.keys import (
    Keyboard,
    Quit,
    Suspended,
    block_signals,
    handle_signals,
    paste_mode,
    raw_mode,
)
from ostler.cli.watch.pages import Pages
from ostler.cli.watch.screen import count_page_lines, render_list, render_page
from ostler.errors import OstlerError
from ostler.model.ids import TaskId
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
                watcher.report_unsent()
                return end.code
            else:
                if not watcher.open_editor():
                    return 0


class Watcher:
    """Holds the screen's state between keys."""

    def __init__(self, project: Project, board: Board, console: Console) -> None:
        self._project = project
        self._board = board
        self._console = console
        self._screen = Screen()
        self._pages = Pages(project)
        self._held: Held | None = None
        self._edited = ""  # task to review in an editor, as soon as the screen is closed

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
            paste_mode(self._console.file),
            handle_signals(keyboard),
        ):
            self._loop(keyboard, live)

    def _loop(self, keyboard: Keyboard, live: Live) -> None:
        while self._screen.page != "gone" and not self._edited:
            if self._held is not None and time.monotonic() >= self._held.until:
                self._send_held()
            self._board.poll()
            rows = self._rows()
            lines = self._draw(rows)
            live.update(Text("\n", no_wrap=True, overflow="crop").join(lines), refresh=True)
            for key in keyboard.wait(_REFRESH_SECONDS):
                self._handle_key(key)
        self._send_held()

    def _rows(self) -> list[Row]:
        """Return the rows that match the filter; the selected task stays selected when it moves."""
        filter_text = self._screen.filter
        rows = (
            [row for row in self._board.rows if matches_filter(row, filter_text)]
            if filter_text
            else self._board.rows
        )
        if self._screen.page == "list" and self._screen.prompt is None:
            self._screen = follow_selection(self._screen, rows)
        return rows

    def _draw(self, rows: list[Row]) -> list[Text]:
        size, screen = self._console.size, self._screen
        if self._held is not None:
            held = self._held.describe(time.monotonic())
            screen = replace(screen, message=f"{held}   {screen.message}".rstrip())
        if screen.page == "list":
            return render_list(self._board, rows, screen, size, time.time())
        title, lines = self._pages.read(self._screen.page, self._screen.task, size.width)
        last = max(0, len(lines) - count_page_lines(size.height))
        where = last if self._screen.top is None else min(self._screen.top, last)
        return render_page(title, lines, screen, size, where)

    def _handle_key(self, key: str) -> None:
        size = self._console.size
        view = ViewState(self._rows(), self._pages.length, count_page_lines(size.height))
        self._screen, request = handle_key(self._screen, key, view)
        if request is not None:
            self._act(request)

    def _act(self, request: ActionRequest) -> None:
        """Apply an action, or hold a decision for some seconds; the one before is sent first."""
        if request.action == "undo":
            taken = self._held.request if self._held else None
            self._held = None
            message = f"taken back: {taken.action} {taken.task}" if taken else "there is nothing to take back"
            self._screen = replace(self._screen, message=message)
            return
        self._send_held()
        if request.action == "review":
            self._edited = request.task
        elif can_be_held(request):
            version = self._pages.version if self._screen.page in ("diff", "review") else None
            try:
                self._held = hold_action(self._project, request, time.monotonic(), version)
            except OstlerError as error:
                self._screen = replace(self._screen, message=join_error(error))
        else:
            self._show(run_action(self._project, request))

    def _send_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._show(send_held(self._project, held))

    def _show(self, message: str) -> None:
        self._screen = replace(self._screen, message=message)
        self._board.poll(force=True)
        self._pages.forget()

    def report_unsent(self) -> None:
        """Name the decision that was not sent, after the screen is closed by a signal."""
        if self._held is not None:
            request = self._held.request
            print_hint(f"Not sent: {request.action} {request.task}{': ' * bool(request.text)}{request.text}")

    def open_editor(self) -> bool:
        """Review the task that was asked for in an editor; return False if there is none."""
        from ostler.cli.review.session import review_in_editor  # noqa: PLC0415

        task, self._edited = self._edited, ""
        if not task:
            return False
        try:
            sent = review_in_editor(self._project, TaskId(task), 0)
        except OstlerError as error:
            message = join_error(error)
        else:
            message = (
                "nothing is sent: the form is unchanged or empty"
                if sent is None
                else describe_sent(task, sent)
            )
        self._show(message)
        return True
