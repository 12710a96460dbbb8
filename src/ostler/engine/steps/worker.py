"""Who makes a task's calls."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from ostler.engine.steps.tools import Case, Tools
from ostler.worker.attempts import Attempts
from ostler.worker.call import CallWorker


def worker_for(case: Case, tools: Tools) -> CallWorker:
    """One whose agents hold the task's lock for as long as anything of them is alive."""
    root = str(tools.layout.root)
    attempts = Attempts(tools.settings, tools.environ, tools.writer, tools.clock, tools.run, root)
    make = partial(tools.make_executor, lock=case.lock)
    settings = tools.settings
    if case.task.max_retries is not None:
        settings = replace(settings, retry=replace(settings.retry, max_retries=case.task.max_retries))
    return CallWorker(settings, make, attempts, tools.stable(), tools.clock)
