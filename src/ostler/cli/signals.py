"""Stop a run on Ctrl-C, TERM or HUP."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from ostler.cli.terminal.output import print_hint
from ostler.cli.terminal.run.progress import restore_cursor
from ostler.errors import Code, OstlerError
from ostler.project.project import Project
from ostler.store.busy import StopRequest

if TYPE_CHECKING:
    from ostler.cli.terminal.run.stepper import Stepper


class StoppableRun(Protocol):
    """A run whose progress is shown and that can be stopped."""

    @property
    def project(self) -> Project: ...

    async def flush(self) -> None: ...

    def stop(self) -> None: ...


class SignalHandler:
    """Stops the run in good order on the first signal and ends the process on the second."""

    def __init__(
        self,
        stop: Callable[[], None],
        stepper: Stepper | None = None,
        greeting: str = "Stopping; all work is kept.",
        request: StopRequest | None = None,  # set at once, also while the event loop waits for the store
    ) -> None:
        self.exit_code = 0
        self._stop = stop
        self._request = request
        self._stepper = stepper
        self._greeting = greeting
        loop = asyncio.get_running_loop()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)):
            # `nohup ostler run` ignores HUP, and so must the run.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, self._handle_signal, code)
                if request is not None:
                    # The loop is still woken up: that does not need the handler which it has set.
                    signal.signal(number, self._request_stop)

    def _request_stop(self, number: int, _frame: FrameType | None) -> None:
        """Called by the interpreter, between any two of its instructions."""
        if self._request is not None and not (number == signal.SIGINT and self._is_editing()):
            self._request.set()

    def _is_editing(self) -> bool:
        """Return whether an editor is open, which handles Ctrl-C itself."""
        return self._stepper is not None and self._stepper.editing

    def _handle_signal(self, code: int) -> None:
        if code == 130 and self._is_editing():
            return
        if self.exit_code:
            restore_cursor()
            # The keepers notice the end of this process and stop the agents.
            os._exit(code)
        self.exit_code = code
        again = "  Press Ctrl-C again to stop at once." if sys.stderr.isatty() else ""
        print_hint(f"{self._greeting}{again}")
        self._stop()

    def is_reason(self, error: OstlerError) -> bool:
        """Return whether a run failed only because its stop could not be recorded: the journal is locked, or
        its server does not answer.
        """
        return self.exit_code != 0 and error.code in (Code.STATE_BUSY, Code.STORE_UNAVAILABLE)


def stop_run(run: StoppableRun) -> None:
    """Stop a run, also one that waits for a locked journal."""
    run.project.journal.stop_request.set()
    run.stop()
