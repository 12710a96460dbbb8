"""P5: 8 writers that await every event, against one row for each transaction at FULL."""

from __future__ import annotations

import asyncio
import time
from itertools import count
from pathlib import Path

import apsw
import msgspec

from measure import PER_SECOND, Result, interleave, ratio, scratch, show
from ostler.model.attempt import TaskRow
from ostler.model.event import CheckpointMade, Record
from ostler.model.ids import TaskId
from ostler.store.sqlite.store import SqliteStore
from ostler.store.writer import GroupWriter

ROUNDS, WRITERS, TURNS = 9, 8, 400
EVENT = CheckpointMade("implement", "0" * 40)
STATE = msgspec.json.encode(  # as long as that of a task in its second phase
    {f"field_{number}": f"{number:x}" * 6 + ".implement.1/call" for number in range(14)}
)


def measure() -> list[Result]:
    with scratch() as place:
        numbers = count()
        grouped, raw = interleave(
            lambda: asyncio.run(rate_grouped(place / f"grouped-{next(numbers)}.db")),
            lambda: rate_raw(place / f"raw-{next(numbers)}.db"),
            rounds=ROUNDS,
        )
    name = f"journal, {WRITERS} writers awaiting / raw FULL, one per commit"
    return [ratio("P5", name, grouped, raw, ">= 3", PER_SECOND, best=max)]


async def write_task(writer: GroupWriter, task: TaskId) -> None:
    for seq in range(1, TURNS + 1):
        record = Record(task, seq, 1.7e9 + seq, EVENT, f"{task}/{seq}")
        assert await writer.append(
            record, TaskRow(task, seq, "in_progress", "t", "P2", 0.0, record.at, STATE)
        )


async def rate_grouped(path: Path) -> float:
    writer = SqliteStore(path).open_writer(create=True)
    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(WRITERS):
            group.create_task(write_task(writer, TaskId(f"task-{number}")))
    rate = WRITERS * TURNS / (time.perf_counter() - started)
    await writer.close()
    return rate


def rate_raw(path: Path) -> float:
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL").fetchall()
    db.execute("CREATE TABLE event (position INTEGER PRIMARY KEY, body TEXT)")
    body = "x" * 700
    started = time.perf_counter()
    for _ in range(WRITERS * TURNS):
        db.execute("INSERT INTO event (body) VALUES (?)", (body,))
    rate = WRITERS * TURNS / (time.perf_counter() - started)
    db.close()
    return rate


if __name__ == "__main__":
    show(measure())
