"""`ostler run` and `ostler worker` in a cluster."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterator
from functools import partial

from ostler.cli.event_loop import run_loop
from ostler.cli.signals import SignalHandler, stop_run
from ostler.cli.terminal.output import print_hint, print_json
from ostler.cli.terminal.run.progress import open_progress
from ostler.cli.terminal.run.run_summary import print_run_summary
from ostler.cli.terminal.run.selected_progress import select_host, select_tasks, show_selected
from ostler.cli.terminal.run.show_run import find_deferred, show_progress
from ostler.cli.terminal.streams import ignore_closed_output
from ostler.errors import OstlerError, UsageError
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome, combine_exit_codes
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.model.task import explain_invalid_label
from ostler.process.orphans import become_subreaper
from ostler.project.cluster.follow import ensure_board, follow_until_done
from ostler.project.cluster.host import read_host_id
from ostler.project.cluster.worker import ClusterWorker
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.views.feed import feed_json


async def run_in_cluster(
    project: Project, task_ids: list[TaskId], as_json: bool, wait: bool, *, print_summary: bool
) -> int:
    """Let workers run these tasks, or all for an empty list; show progress and return the exit code."""
    ignore_closed_output()
    await _start(project)
    follower = _Follower(project, task_ids, wait)
    signals = SignalHandler(
        partial(stop_run, follower),
        greeting="Stopping; the workers continue the tasks.",
        request=project.journal.stop_request,
    )
    deferred = find_deferred(project, task_ids) if wait else {}
    screen = show_selected(open_progress(as_json, deferred, project.layout), select_tasks(task_ids))
    after = _find_start(project, task_ids)
    outcomes = await show_progress(follower, asyncio.create_task(follower.run()), screen, None, after)
    if signals.exit_code:
        _print_left(outcomes)
        return signals.exit_code
    if print_summary or as_json:
        print_run_summary(project, outcomes, as_json)
    return combine_exit_codes(outcomes)


def _find_start(project: Project, task_ids: list[TaskId]) -> int:
    """Return the position before the first of these tasks was claimed: a worker may have begun already."""
    start = project.journal.position()
    for row in project.journal.named_rows(task_ids):
        if row.status == TaskStatus.IN_PROGRESS:
            claims = [at for at, kind in _list_events(project, row.id) if kind == "task_claimed"]
            start = min(start, claims[-1] - 1) if claims else start
    return start


def _list_events(project: Project, task: TaskId) -> Iterator[tuple[int, str]]:
    """Yield the position and the type of each event of a task."""
    after = 0
    while lines := project.feed(after, task):
        yield from ((line.position, feed_json(line)["type"]) for line in lines)
        after = lines[-1].position


def run_on_workers(
    project: Project, task_ids: list[TaskId], as_json: bool, wait: bool, detach: bool, is_new: bool
) -> int:
    """Let workers run the tasks of a command; follow them, or return at once to detach."""
    try:
        if detach:
            return _detach(project, task_ids, as_json)
        return run_loop(run_in_cluster(project, task_ids, as_json, wait, print_summary=True))
    except OstlerError as error:
        if is_new:  # the task is recorded, and its id is not printed yet
            error.hint = f"{error.hint or 'correct it'}, then: ostler run {task_ids[0]}"
        raise


def _detach(project: Project, task_ids: list[TaskId], as_json: bool) -> int:
    """Make sure that workers run the tasks, and return."""
    run_loop(_start(project))
    if as_json:
        print_json({"schema": "ostler.detached/1", "pid": None, "log": None, "tasks": task_ids})
        return 0
    watch = f"ostler log {task_ids[0]} -f" if len(task_ids) == 1 else "ostler events -f"
    print_hint(f"The workers run the tasks.  Watch: {watch}   or   ostler status")
    return 0


async def _start(project: Project) -> None:
    for warning in await ensure_board(project, os.environ):
        print_hint(warning)


def _print_left(outcomes: Collection[Outcome]) -> None:
    left = [one.task_id for one in outcomes if one.status in (TaskStatus.IN_PROGRESS, *EXECUTABLE)]
    if left:
        tasks = "1 task is" if len(left) == 1 else f"{len(left)} tasks are"
        print_hint(f"{tasks} left to the workers.  Stop one: ostler pause {left[0]}")


class _Follower:
    """Follows the tasks that workers run; to stop it leaves them running."""

    def __init__(self, project: Project, task_ids: list[TaskId], wait: bool) -> None:
        self.project = project
        self._task_ids = task_ids
        self._wait = wait
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def flush(self) -> None:
        """Nothing is buffered: other processes write."""

    async def run(self) -> list[Outcome]:
        return await follow_until_done(
            self.project, self._task_ids, self._stopped, print_hint, wait=self._wait
        )


def parse_labels(text: str | None) -> tuple[str, ...]:
    """Return the labels of --labels; raise UsageError for one that no task can have."""
    labels = tuple(dict.fromkeys(label.strip() for label in (text or "").split(",") if label.strip()))
    if text is not None and not labels:
        raise UsageError("--labels names no label", "list labels, such as --labels gpu,big")
    for label in labels:
        if reason := explain_invalid_label(label):
            raise UsageError(reason)
    return labels


async def run_cluster_worker(project: Project, labels: tuple[str, ...], as_json: bool) -> int:
    """Run tasks that the Temporal server gives to this worker, until a signal ends it."""
    become_subreaper()
    ignore_closed_output()
    host, queue = read_host_id(project.layout), project.settings.engine.queue
    ostler = Ostler(project, os.environ, print_message=print_hint)
    try:
        also = f" and its labels {', '.join(labels)}" if labels else ""
        greeting = f"Worker {host} runs tasks of the queue {queue}{also}; stop with Ctrl-C."
        worker = ClusterWorker(
            ostler,
            os.environ,
            print_hint,
            greeting="" if as_json else greeting,
            host=host,
            labels=labels,
        )
        signals = SignalHandler(
            partial(stop_run, worker),
            greeting="Stopping; other workers continue the tasks.",
            request=project.journal.stop_request,
        )
        screen = show_selected(open_progress(as_json, {}, project.layout), select_host(host))
        try:
            await show_progress(worker, asyncio.create_task(worker.run()), screen, None)
        except OstlerError as error:
            if not signals.is_reason(error):
                raise
            print_hint(f"Stopped; {error.message}. Other workers continue the tasks.")
    finally:
        await ostler.close()
    return signals.exit_code
