"""A board starts each task once, in order, and again only when that can have an effect."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ostler.engine.temporal.task_starts import MAX_WAITING, TaskStarts
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId

Answer = Callable[[TaskRow], bool]


def make(name: str, status: str = "pending", seq: int = 1, priority: str = "P2", **more: object) -> TaskRow:
    row = TaskRow(TaskId(name), seq, status, name, priority, created_at=0, updated_at=0, state=b"{}")
    return replace(row, **more)


def choose(
    starts: TaskStarts, rows: list[TaskRow], now: float, answer: Callable[[TaskRow], bool]
) -> list[str]:
    """Choose tasks and start them; `answer` is whether the server started each."""
    members = {row.id: row for row in rows if row.pipeline}
    chosen = starts.choose(rows, members, now, read_label)
    for row in chosen:
        starts.note(row, read_label(row.id), now, started=answer(row))
    return [row.id for row in chosen]


def read_label(task: TaskId) -> str:
    """Return the part of the name before a colon."""
    return task.partition(":")[0] if ":" in task else ""


def accept(row: TaskRow) -> bool:
    return True


def refuse(row: TaskRow) -> bool:
    return False


def test_a_task_is_started_once() -> None:
    """A started task that no worker has claimed is started again only after seconds."""
    starts, rows = TaskStarts(), [make("a"), make("b")]
    assert choose(starts, rows, 0.0, accept) == ["a", "b"]
    assert choose(starts, rows, 1.0, accept) == []
    assert choose(starts, rows, 5.0, refuse) == ["a", "b"]


def test_a_task_whose_last_workflow_is_ending_is_tried_again_at_once() -> None:
    """After an approval the workflow of the last run may be open for some milliseconds."""
    starts = TaskStarts()
    choose(starts, [make("a")], 0.0, accept)
    approved = [make("a", seq=20)]
    tried = [now for now in (1.0, 1.02, 1.06, 1.1, 1.17) if choose(starts, approved, now, refuse)]
    assert tried == [1.0, 1.06, 1.17]


def test_a_running_task_is_started_again_rarely() -> None:
    """The workflow of a task in progress is there, unless somebody has ended it."""
    starts = TaskStarts()
    assert choose(starts, [make("a", "in_progress", 5)], 0.0, refuse) == ["a"]
    assert choose(starts, [make("a", "in_progress", 9)], 29.0, refuse) == []
    assert choose(starts, [make("a", "in_progress", 9)], 30.0, accept) == ["a"]


def test_few_tasks_wait_at_the_server() -> None:
    """Thousands of tasks are started as workers claim them; a more urgent one does not wait for that."""
    starts = TaskStarts()
    rows = [make(f"t{number}") for number in range(MAX_WAITING + 5)]
    assert len(choose(starts, rows, 0.0, accept)) == MAX_WAITING
    urgent = make("urgent", priority="P0")
    assert choose(starts, [urgent, *rows], 1.0, accept) == ["urgent"]
    claimed = [replace(row, status="in_progress", seq=2) for row in (urgent, rows[0])] + rows[1:]
    assert choose(starts, claimed, 2.0, accept) == [f"t{MAX_WAITING}"]


def test_a_pipeline_has_its_limit() -> None:
    """Tasks of a pipeline that wait at the server count as running."""
    starts = TaskStarts()
    rows = [make(name, pipeline="p", max_parallel=1) for name in "ab"]
    assert choose(starts, rows, 0.0, accept) == ["a"]
    assert choose(starts, rows, 1.0, accept) == []
    assert choose(starts, rows[1:], 2.0, accept) == ["b"]


def test_tasks_whose_label_no_worker_has_stop_no_others() -> None:
    """The limit is one of each label, also of tasks that were added later."""
    starts = TaskStarts()
    rows = [make(f"gpu:{number}") for number in range(2 * MAX_WAITING)]
    assert len(choose(starts, rows, 0.0, accept)) == MAX_WAITING
    rows += [make("gpu:last"), make("plain"), make("big:one")]
    started = [one for now in (1.0, 2.0, 3.0) for one in choose(starts, rows, now, accept)]
    assert started == ["plain", "big:one"]
    more = [make(f"t{number}") for number in range(MAX_WAITING + 5)]
    started = [one for now in (3.5, 4.0, 4.5) for one in choose(starts, [*rows, *more], now, accept)]
    assert started == [f"t{number}" for number in range(MAX_WAITING - 1)]


def test_labels_are_read_only_when_many_tasks_wait_and_then_once() -> None:
    """Each is a read of the journal."""
    starts, reads = TaskStarts(), list[TaskId]()

    def read(task: TaskId) -> str:
        reads.append(task)
        return ""

    rows = [make(f"t{number}") for number in range(4 * MAX_WAITING)]
    for row in starts.choose(rows, {}, 0.0, read):
        starts.note(row, "", 0.0, started=True)
    assert len(reads) <= MAX_WAITING
    for now in range(1, 9):
        before = len(reads)
        assert starts.choose(rows, {}, now / 10, read) == []
        assert len(reads) - before <= MAX_WAITING
    assert len(reads) == len({*reads}) == 3 * MAX_WAITING
