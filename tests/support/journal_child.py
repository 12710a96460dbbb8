"""A process that writes to a journal and prints, line by line, what was acknowledged.

journal_child.py DATABASE append|loop COUNT       continue one task's history, directly or from a loop
journal_child.py DATABASE claim COUNT             try to be the first to write to each of COUNT tasks
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from journal_values import TASK, make_record, make_row
from ostler.errors import OstlerError
from ostler.model.ids import TaskId
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def append(path: Path, count: int) -> None:
    with SqliteJournal(path) as journal:
        first = len(journal.read(TASK)) + 1
        for seq in range(first, first + count):
            try:
                say(f"ack {seq}" if journal.append(make_record(seq), make_row(seq)) else f"lost {seq}")
            except OstlerError as error:
                say(f"refused {error.code}")


async def append_from_loop(path: Path, count: int) -> None:
    with SqliteJournal(path) as journal:
        first = len(journal.read(TASK)) + 1
    writer = SqliteStore(path).open_writer()
    for seq in range(first, first + count):
        say(f"ack {seq}" if await writer.append(make_record(seq), make_row(seq)) else f"lost {seq}")
    await writer.close()


def claim(path: Path, count: int) -> None:
    with SqliteJournal(path, busy_timeout_seconds=60) as journal:
        wait_for_the_others()
        for number in range(count):
            task = TaskId(f"task-{number}")
            if journal.append(make_record(1, task), make_row(1, task)):
                say(f"won {task}")


def create(path: Path, _: int) -> None:
    wait_for_the_others()
    with SqliteJournal(path, create=True) as journal:
        say(journal.store_id)


def wait_for_the_others() -> None:
    say("ready")
    sys.stdin.readline()


def main() -> None:
    path, verb, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if verb == "loop":
        asyncio.run(append_from_loop(path, count))
    else:
        {"append": append, "claim": claim, "create": create}[verb](path, count)


if __name__ == "__main__":
    main()
