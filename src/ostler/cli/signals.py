"""How a run is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Protocol

from ostler.cli.out import hint
from ostler.cli.progress import give_cursor_back
from ostler.project.project import Project

if TYPE_CHECKING:
    from ostler.cli.step import Stepper


class Running(Protocol):
    """What is at work while a screen shows it."""

    @property
    def project(self) -> Project: ...

    async def flush(self) -> None: ...

    def stop(self) -> None: ...


class Signals:
    """The first Ctrl-C, TERM or HUP stops in good order; the second one stops at once."""

    def __init__(self, ostler: Running, stepper: Stepper | None = None) -> None:
        self.exit = 0
        self._ostler = ostler
        self._stepper = stepper
        loop = asyncio.get_running_loop()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup ostler run
                loop.add_signal_handler(number, self._told, code)

    def _told(self, code: int) -> None:
        if code == 130 and self._stepper and self._stepper.editing:
            return  # the editor has the terminal, and Ctrl-C
        if self.exit:
            give_cursor_back()
            os._exit(code)  # the keepers see that we are gone and stop what is left
        self.exit = code
        if sys.stderr.isatty():
            hint("Stopping; all work is kept.  Ctrl-C again stops at once.")
        self._ostler.stop()
