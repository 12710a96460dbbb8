"""A journal in memory, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Raw, Struct
from msgspec.structs import replace

from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import Event, FeedLine, Record
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.status import WAITS_FOR_PERSON, TaskStatus
from ostler.store import codec
from ostler.store.fence import Claim
from ostler.store.journal import FEED_LIMIT, Append, RecordedTasks
from ostler.testing.memory_listing import MemoryListing


class _Line(Struct, frozen=True):
    task: TaskId
    at: float
    kind: str
    body: bytes
    seq: int | None = None  # None: a notice
    step: str = ""
    basis: int = 0


class MemoryJournal:
    """A Journal that keeps its data in memory."""

    def __init__(self, store_id: str = "memory") -> None:
        self.store_id = store_id
        self.lines: list[_Line] = []
        self.listing = MemoryListing(self)
        self._recorded: set[tuple[TaskId, int]] = set()
        self._rows: dict[TaskId, TaskRow] = {}
        self._status_since: dict[TaskId, float] = {}
        self._attempts: dict[TaskId, list[Attempt]] = {}

    def append(
        self,
        record: Record,
        row: TaskRow,
        notices: Sequence[Notice] = (),
        *,
        claim: Claim | None = None,
        then: Sequence[Append] = (),
    ) -> bool:
        self._require_claim(record.task, claim)
        key = (record.task, record.seq)
        if key in self._recorded:
            return False
        line = _line(record.task, record.at, record.event)
        added = [_line(record.task, record.at, notice) for notice in notices]
        self._recorded.add(key)
        self.lines += [replace(line, seq=record.seq, step=record.step, basis=record.basis), *added]
        before = self._rows.get(row.id)
        if before is None or before.status != row.status:
            self._status_since[row.id] = row.updated_at
        self._rows[row.id] = row
        if row.removed:
            del self._rows[row.id]
        return all(self.append(*one, claim=claim) for one in then)

    def notify(
        self, task: TaskId, at: float, notices: Sequence[Notice], *, claim: Claim | None = None
    ) -> None:
        self._require_claim(task, claim)
        self.lines += [_line(task, at, notice) for notice in notices]

    def begin_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> int:
        self._require_claim(attempt.task, claim)
        known = self._attempts.setdefault(attempt.task, [])
        for running in [one for one in known if one.status == "running"]:
            self._finish(codec.mark_interrupted(running), attempt.started_at)
        started = replace(attempt, number=len(known) + 1)
        known.append(started)
        self.notify(started.task, started.started_at, [codec.create_started_notice(started)])
        return started.number

    def set_session(self, task: TaskId, number: int, session_id: str, *, claim: Claim | None = None) -> bool:
        self._require_claim(task, claim)
        if not self._is_running(task, number):
            return False
        known = self._attempts[task]
        known[-1] = replace(known[-1], session_id=session_id)
        return True

    def end_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> bool:
        self._require_claim(attempt.task, claim)
        if not self._is_running(attempt.task, attempt.number):
            return False
        self._finish(attempt, codec.calculate_end(attempt))
        return True

    def read(self, task: TaskId, after: int = 0) -> list[Record]:
        records = [
            Record(task, line.seq, line.at, codec.decode_event(line.kind, line.body), line.step, line.basis)
            for line in self.lines
            if line.task == task and line.seq is not None and line.seq > after
        ]
        return sorted(records, key=lambda record: record.seq)

    def recorded_tasks(self, after: int) -> RecordedTasks:
        new = self.lines[after:]
        return RecordedTasks({line.task for line in new if line.seq is not None}, len(self.lines))

    def row(self, task: TaskId) -> TaskRow | None:
        return self._rows.get(task)

    def status_since(self, task: TaskId) -> float:
        """Return when the task got its status."""
        return self._status_since.get(task, 0.0)

    def rows(self) -> list[TaskRow]:
        return sorted(self._rows.values(), key=lambda row: (row.created_at, row.id))

    def open_rows(self) -> list[TaskRow]:
        return [row for row in self.rows() if row.open]

    def active_rows(self) -> list[TaskRow]:
        return [
            row for row in self.open_rows() if row.status not in WAITS_FOR_PERSON or row.after or row.pipeline
        ]

    def late_reviews(self, before: float) -> list[TaskRow]:
        waiting = (row for row in self.open_rows() if row.status == TaskStatus.NEEDS_REVIEW)
        found = (row for row in waiting if row.updated_at <= before)
        return sorted(found, key=lambda row: (row.updated_at, row.id))

    def named_rows(self, tasks: Sequence[TaskId]) -> list[TaskRow]:
        return [self._rows[task] for task in tasks if task in self._rows]

    def pipeline_rows(self, runs: Iterable[str]) -> list[TaskRow]:
        run_ids = set(runs)
        return [row for row in self.rows() if row.pipeline and row.pipeline in run_ids]

    def statuses(self, tasks: Iterable[TaskId]) -> dict[TaskId, str]:
        return {task: self._rows[task].status for task in tasks if task in self._rows}

    def find(self, prefix: str) -> list[TaskId]:
        found = sorted(task for task in self._rows if task.startswith(prefix))
        return found[:1] if prefix in found else found

    def attempts(self, task: TaskId) -> list[Attempt]:
        return list(self._attempts.get(task, []))

    def feed(self, after: int = 0, task: TaskId | None = None, limit: int = FEED_LIMIT) -> list[FeedLine]:
        lines = [
            FeedLine(position, line.at, line.task, Raw(line.body))
            for position, line in enumerate(self.lines[after:], after + 1)
            if task is None or line.task == task
        ]
        return lines[:limit]

    def position(self) -> int:
        return len(self.lines)

    def version(self) -> int:
        return len(self.lines)

    def close(self) -> None:
        pass

    def _require_claim(self, task: TaskId, claim: Claim | None) -> None:
        if claim is not None:
            row = self._rows.get(task)
            claim.require(task, row.state if row else None)

    def _is_running(self, task: TaskId, number: int) -> bool:
        newest = self._attempts.get(task, [])[-1:]
        return [(known.number, known.status) for known in newest] == [(number, "running")]

    def _finish(self, attempt: Attempt, at: float) -> None:
        self._attempts[attempt.task][attempt.number - 1] = attempt
        self.notify(attempt.task, at, [codec.create_ended_notice(attempt)])


def _line(task: TaskId, at: float, event: Event | Notice | Raw) -> _Line:
    kind, body = codec.encode_event(event)
    return _Line(task, at, kind, body)
