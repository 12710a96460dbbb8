"""The checks of a cluster in words, from what its servers answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ostler.config.cluster import EngineSettings
from ostler.project.inspection.check import Check

if TYPE_CHECKING:
    from ostler.engine.temporal.inspection import ServerFacts, WorkerFacts
    from ostler.store.postgres.inspection import StoreFacts

# Times of tasks and schedules are those of the machine that reads them.
MOST_AHEAD_SECONDS = 5.0
_START = "run ostler worker on each machine that runs tasks"


def describe_store(facts: StoreFacts, name: str, schema: str) -> list[Check]:
    """Return the checks of the database, of the tables of the project and of the clocks."""
    server = f"PostgreSQL {facts.server_version} at {name}, {_milliseconds(facts.answer_seconds)}"
    return [Check("store", True, server), _describe_tables(facts, schema), _describe_clock(facts)]


def _describe_tables(facts: StoreFacts, schema: str) -> Check:
    if not facts.store_id:
        fix = "ostler init creates them; ostler store copy brings your tasks along"
        return Check("tables", False, f"schema {schema} has no tables of Ostler", fix)
    detail = f"schema {schema}, version {facts.version}"
    if facts.works_with > facts.newest:
        return Check("tables", False, f"{detail}: made by a newer Ostler", "pip install -U 'ostler[cluster]'")
    if facts.version > facts.newest:
        detail += f"; usable, though this Ostler has {facts.newest}"
    elif facts.version < facts.newest:
        detail += f"; the next command makes it {facts.newest}"
    return Check("tables", True, detail)


def _describe_clock(facts: StoreFacts) -> Check:
    ahead = -facts.ahead_seconds
    if abs(ahead) > MOST_AHEAD_SECONDS:
        difference = f"this machine is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} PostgreSQL"
        fix = "synchronize the clocks, such as with systemd-timesyncd or chrony"
        return Check("clock", False, difference, fix, required=False, state="warning")
    return Check("clock", True, f"within {max(0.1, abs(ahead)):.1f} s of PostgreSQL")


def describe_server(facts: ServerFacts, engine: EngineSettings) -> list[Check]:
    """Return the checks of the server, the board and the workers."""
    where = f"{engine.address}, namespace {engine.namespace}, {_milliseconds(facts.answer_seconds)}"
    return [
        Check("temporal", True, f"server {facts.version} at {where}"),
        _describe_workers(facts, engine),
        *([] if facts.has_board is None else [_describe_board(facts, engine)]),
    ]


def _describe_workers(facts: ServerFacts, engine: EngineSettings) -> Check:
    if not facts.workers:
        return Check("workers", False, f"none polls the queue {engine.queue}", _START)
    count = "1 polls" if len(facts.workers) == 1 else f"{len(facts.workers)} poll"
    names = tuple(map(_describe_worker, facts.workers))
    return Check("workers", True, f"{count} the queue {engine.queue}:", more=names)


def _describe_worker(worker: WorkerFacts) -> str:
    return f"{worker.name}, labels {', '.join(worker.labels)}" if worker.labels else worker.name


def _describe_board(facts: ServerFacts, engine: EngineSettings) -> Check:
    if facts.board_queue not in ("", engine.queue):
        from ostler.engine.temporal.names import advise_other_queue  # noqa: PLC0415  (only a cluster has it)

        detail = f"it gives tasks to the queue {facts.board_queue}, and engine.queue is {engine.queue}"
        return Check("board", False, detail, advise_other_queue(facts.board_queue, engine.namespace))
    if facts.has_board:
        return Check("board", True, "its workflow is open")
    detail = "its workflow is not open, so no task is started"
    return Check("board", False, detail, "ostler worker and ostler run --all start it")


def describe_labels(facts: ServerFacts, tasks: Mapping[str, int]) -> Iterator[Check]:
    """Yield a check for each label of tasks that are not finished, and one for tasks without a label."""
    known = {label for worker in facts.workers for label in worker.labels}
    for queue in facts.queues:
        count = tasks.get(queue.label, 0)
        open_tasks = "1 open task" if count == 1 else f"{count} open tasks"
        waits = f", {queue.waiting} waiting for {queue.waiting_seconds:.0f} s" if queue.waiting else ""
        if queue.label and queue.label not in known:
            fix = f"ostler worker --labels {queue.label}"
            yield Check(f"label {queue.label}", False, f"{open_tasks}{waits}, but no worker has it", fix)
        elif queue.label:
            yield Check(f"label {queue.label}", True, f"{open_tasks}{waits}")
        elif count:
            yield Check("tasks", True, f"{open_tasks} without a label{waits}")


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
