"""Runs tasks on the workers of a cluster, and waits until they end or wait for somebody."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping

from ostler.calls.models.availability import Unavailable
from ostler.engine.board import look_at
from ostler.engine.board_reader import read_board
from ostler.errors import needs_account_fix
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome
from ostler.model.rows import decode_state
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.project.cluster.labels import count_labels
from ostler.project.project import Project

_POLL_SECONDS = 0.2
_QUIET_SECONDS = 10.0  # until a wait for workers is reported
_RETRY_SECONDS = 30.0  # for the next try of a task whose provider needed a person


async def ensure_board(project: Project, environ: Mapping[str, str]) -> list[str]:
    """Make sure that workers run the project's ready tasks; raise an error if the server cannot be used.

    Return warnings: tasks for which no worker asks wait until there is one.
    """
    from ostler.engine.temporal.board_start import start_board  # noqa: PLC0415  (loads temporalio)

    engine, name = project.settings.engine, f"{os.uname().nodename}:{os.getpid()}"
    workers = await start_board(engine, environ, project.journal.store_id, name)
    known = {label for worker in workers for label in worker.labels}
    missing = sorted(count_labels(project).keys() - known - {""})
    if not workers:
        return [f"No worker polls the queue {engine.queue}; tasks wait.  Start one: ostler worker"]
    return [
        f"No worker has the label {one}; its tasks wait.  ostler worker --labels {one}" for one in missing
    ]


class WorkersDriver:
    """Leaves tasks to the workers of a cluster and waits: a run of this process would compete with theirs."""

    stop_reason = ""

    def __init__(
        self,
        project: Project,
        environ: Mapping[str, str],
        print_message: Callable[[str], None],
        *,
        wait: bool,
    ) -> None:
        self._project = project
        self._environ = environ
        self._print_message = print_message
        self._wait = wait
        self._stopped = asyncio.Event()
        self.not_started: dict[TaskId, Unavailable | None] = {}

    def stop(self) -> None:
        """End the wait; the workers continue the tasks."""
        self._stopped.set()

    def wake_runners(self) -> None:
        """The journal wakes the workers."""

    async def run(self, tasks: Collection[TaskId]) -> list[Outcome]:
        """Wait until these tasks, or all for none, have ended or wait."""
        from ostler.project.tasks.lists.outcomes import add_details  # noqa: PLC0415  (imported on use)

        self._project.require_person("run tasks")
        for warning in await ensure_board(self._project, self._environ):
            self._print_message(warning)
        outcomes = await follow_until_done(
            self._project, tasks, self._stopped, self._print_message, wait=self._wait
        )
        return await asyncio.to_thread(add_details, outcomes, self._project.layout, self._project.store)


async def follow_until_done(
    project: Project,
    tasks: Collection[TaskId],
    stopped: asyncio.Event,
    print_message: Callable[[str], None],
    *,
    wait: bool = False,
) -> list[Outcome]:
    """Wait until none of these tasks, or of all, runs or can run; return their status.

    `wait` also waits for tasks that a limit has deferred.
    """
    from ostler.project.tasks.lists.outcomes import read_outcomes  # noqa: PLC0415  (imported on use)

    view = _View(project, frozenset(tasks), print_message, waits_for_deferred=wait)
    while not stopped.is_set():
        if not view.list_unfinished():
            break
        try:
            await asyncio.wait_for(stopped.wait(), _POLL_SECONDS)
        except TimeoutError:
            continue
    return read_outcomes(project, view.seen)


class _View:
    """The tasks that a command follows."""

    def __init__(
        self,
        project: Project,
        named: frozenset[TaskId],
        print_message: Callable[[str], None],
        *,
        waits_for_deferred: bool,
    ) -> None:
        self._project = project
        self._named = named
        self._print_message = print_message
        self._waits_for_deferred = waits_for_deferred
        self.seen = set(named)  # all that were unfinished
        self._first: dict[TaskId, int] = {}  # the record of each task when it was first read
        self._started_at = self._active_at = project.now()
        self._is_reported = False

    def list_unfinished(self) -> set[TaskId]:
        """Return the tasks that run or that a worker can start."""
        project, now = self._project, self._project.now()
        board = read_board(project.journal, project.journal.active_rows(), self._includes)
        running = {row.id for row in board.rows if row.status == TaskStatus.IN_PROGRESS}
        orders = look_at(board, now, running)
        deferred = {
            row.id for row in board.rows if self._waits_for_deferred and row.status == TaskStatus.DEFERRED
        }
        starts = {*orders.start, *(row.id for row, _ in orders.events)}
        self.seen |= running | deferred | starts
        starts -= {row.id for row in board.rows if self._is_refused(row, now)}
        self._report(running, starts, now)
        return running | deferred | starts

    def _includes(self, row: TaskRow) -> bool:
        return not self._named or row.id in self._named

    def _is_refused(self, row: TaskRow, now: float) -> bool:
        """Return whether a person has to log in or to pay first; a worker may find that this was done."""
        is_tried = row.seq > self._first.setdefault(row.id, row.seq)
        is_over = is_tried or now >= self._started_at + _RETRY_SECONDS
        return is_over and row.status in EXECUTABLE and needs_account_fix(decode_state(row).code)

    def _report(self, running: set[TaskId], starts: set[TaskId], now: float) -> None:
        """Print once that no worker starts what is left, such as while its provider may not be called."""
        if running or not starts:
            self._active_at = now
        elif not self._is_reported and now >= self._active_at + _QUIET_SECONDS:
            self._is_reported = True
            tasks = "1 task waits" if len(starts) == 1 else f"{len(starts)} tasks wait"
            self._print_message(
                f"{tasks} for a worker with a free job, memory and a provider that can be called.  "
                "Next: ostler cluster doctor"
            )
