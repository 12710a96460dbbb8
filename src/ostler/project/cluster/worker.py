"""A worker of a cluster: runs tasks, starts scheduled ones, and leaves its work to others when it stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from ostler.engine.steps.move_obstacles import require_movable
from ostler.engine.steps.mover import create_mover
from ostler.engine.temporal.worker import TemporalWorker
from ostler.model.outcome import Outcome
from ostler.project.ostler import Ostler
from ostler.project.running.worker import Worker

_SCHEDULE_SECONDS = 1.0


class ClusterWorker:
    """One worker process; stop it to drain it: it takes no further task, and others continue its own."""

    def __init__(
        self,
        ostler: Ostler,
        environ: Mapping[str, str],
        print_message: Callable[[str], None],
        *,
        greeting: str,  # printed when it is connected
        host: str,
        queue: str = "",  # empty: engine.queue
        labels: Sequence[str] = (),
        jobs: int | None = None,  # None: run.jobs, also when it changes
    ) -> None:
        self.project = ostler.project
        self._ostler = ostler
        self._environ = environ
        self._print_message = print_message
        self._greeting = greeting
        self._host = host
        self._queue = queue
        self._labels = tuple(labels)
        self._jobs = jobs
        self._schedules = Worker(ostler, print_message)
        self._worker: TemporalWorker | None = None
        self._is_stopped = False

    def stop(self) -> None:
        """Stop the active tasks in a resumable state; `run` then returns."""
        self._is_stopped = True
        if self._worker is not None:
            self._worker.stop()

    async def flush(self) -> None:
        """Wait until everything is written to the journal."""
        await self._ostler.flush()

    async def run(self) -> list[Outcome]:
        """Run until stopped; others continue the tasks, so there are no outcomes."""
        # It would fail each task that it takes.
        require_movable(self.project.settings, self.project.layout.root, self.project.repository())
        services = await self._ostler.prepare_run(probe=True, restack=True, reports_holds=True)
        settings = self.project.settings.engine
        self._worker = TemporalWorker(
            replace(services, host=self._host, mover=create_mover(self.project.settings, self._environ)),
            replace(settings, queue=self._queue or settings.queue),
            self._environ,
            labels=self._labels,
            read_jobs=lambda: self._jobs or self.project.settings.run.jobs,
            print_message=self._print_message,
            greeting=self._greeting,
        )
        if self._is_stopped:
            return []
        scheduling = asyncio.create_task(self._run_schedules())
        scheduling.add_done_callback(lambda _: self.stop())  # so that an error in it ends the worker
        try:
            async with self._ostler.watch_settings():
                await self._worker.run()
        finally:
            scheduling.cancel()
            await asyncio.wait({scheduling})
        if not scheduling.cancelled():
            scheduling.result()
        return []

    async def _run_schedules(self) -> None:
        """Add scheduled tasks; each worker does so, and the id of a scheduled task allows it once."""
        while True:
            self._schedules.start_due()
            await self._schedules.check_stacked()
            await asyncio.sleep(_SCHEDULE_SECONDS)
