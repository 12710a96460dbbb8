"""P6: one durable append alone, against write + fsync of the same bytes."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from measure import MILLISECONDS, Result, ratio, scratch, show
from ostler.model.attempt import TaskRow
from ostler.model.event import CheckpointMade, Record
from ostler.model.ids import TaskId
from ostler.store.codec import encode_event
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore
from ostler.store.writer import GroupWriter

ROUNDS, TURNS = 12, 200
TASK = TaskId("bench-aaaa")
EVENT = CheckpointMade("implement", "0" * 40)
STATE = b"s" * 600
SIZE = len(encode_event(EVENT)[1]) + len(STATE)


def measure() -> list[Result]:
    with scratch() as place:
        raw, alone, looped = asyncio.run(time_all(place))
    return [
        ratio("P6", "one durable append / write + fsync", alone, raw, "<= 2", MILLISECONDS),
        ratio("P6", "the same, awaited in the event loop", looped, raw, "<= 2", MILLISECONDS),
    ]


def record_at(seq: int) -> tuple[Record, TaskRow]:
    at = 1.7e9 + seq
    return Record(TASK, seq, at, EVENT, f"{TASK}/{seq}"), TaskRow(
        TASK, seq, "in_progress", "t", "P2", 0.0, at, STATE
    )


def time_raw(fd: int) -> float:
    data = b"x" * SIZE
    started = time.perf_counter()
    for _ in range(TURNS):
        os.write(fd, data)
        os.fsync(fd)
    return (time.perf_counter() - started) / TURNS


def time_journal(journal: SqliteJournal, first: int) -> float:
    started = time.perf_counter()
    for seq in range(first, first + TURNS):
        assert journal.append(*record_at(seq))
    return (time.perf_counter() - started) / TURNS


async def time_writer(writer: GroupWriter, first: int) -> float:
    started = time.perf_counter()
    for seq in range(first, first + TURNS):
        assert await writer.append(*record_at(seq))
    return (time.perf_counter() - started) / TURNS


async def time_all(directory: Path) -> tuple[list[float], list[float], list[float]]:
    """The times of each round, with all three open at once as in a run."""
    fd = os.open(directory / "raw", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    writer = SqliteStore(directory / "loop.db").open_writer(create=True)
    times: list[tuple[float, float, float]] = []
    with SqliteJournal(directory / "thread.db", create=True) as journal:
        for first in range(1, 1 + ROUNDS * TURNS, TURNS):
            looped = await time_writer(writer, first)
            times.append((time_raw(fd), time_journal(journal, first), looped))
    await writer.close()
    os.close(fd)
    raw, alone, looped = (list(column) for column in zip(*times, strict=True))
    return raw, alone, looped


if __name__ == "__main__":
    show(measure())
