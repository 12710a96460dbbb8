"""Reports the progress of a step that takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ostler.engine.steps.services import StepServices, TaskContext
from ostler.model.notice import StepProgress

_DELAY_SECONDS = 1.0  # in real time, not in that of the run's clock


@contextmanager
def report_progress(
    message: str, context: TaskContext, services: StepServices, log: Path | None = None, files: int = 0
) -> Generator[None]:
    """Record a notice if the body takes longer than a second.

    `log` is the file with its output; `files` is the approximate number of files in a new worktree.
    """
    task = context.state.task
    log_name = str(log.relative_to(services.layout.task(task))) if log else ""

    def notify() -> None:
        services.writer.notify(task, services.clock.now(), [StepProgress(message, log_name, files)])

    timer = asyncio.get_running_loop().call_later(_DELAY_SECONDS, notify)
    try:
        yield
    finally:
        timer.cancel()
