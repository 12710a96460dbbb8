"""Tells whoever looks on what keeps a task busy, once that takes longer than a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ostler.engine.steps.tools import Case, Tools
from ostler.model.notice import StillBusy

_MOMENT_SECONDS = 1.0  # of the person who waits, whatever the clock of the run says


@contextmanager
def busy(message: str, case: Case, tools: Tools, log: Path | None = None, files: int = 0) -> Generator[None]:
    """Say what is done inside, should it take long.

    `log` gets what it prints meanwhile; `files` is about how many files a worktree will have.
    """
    task = case.state.task
    shown = str(log.relative_to(tools.layout.task(task))) if log else ""

    def tell() -> None:
        tools.writer.notify(task, tools.clock.now(), [StillBusy(message, shown, files)])

    alarm = asyncio.get_running_loop().call_later(_MOMENT_SECONDS, tell)
    try:
        yield
    finally:
        alarm.cancel()
