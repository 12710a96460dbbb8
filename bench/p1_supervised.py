"""P1: one supervised /bin/true with its attempt begun and ended in the journal, against subprocess.run."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path

from msgspec.structs import replace

from measure import Result, interleave, milliseconds, ratio, scratch, show
from ostler.model.attempt import Attempt
from ostler.model.command import Command
from ostler.model.ids import TaskId
from ostler.process.runner import DefaultCommandRunner
from ostler.store.writer import GroupWriter

ROUNDS = 200
COMMAND = Command(("/bin/true",), cwd="/", env={})
ATTEMPT = Attempt(TaskId("bench-aaaa"), "bench-aaaa/1/call", "bench", "implement", 1, "command", 0.0)


def measure() -> list[Result]:
    with scratch() as place, asyncio.Runner() as loop:
        writer = loop.run(open_writer(place / "bench.db"))
        runner = DefaultCommandRunner()
        ours, bare = interleave(lambda: loop.run(supervise(writer, runner)), start_bare, ROUNDS)
        loop.run(writer.close())
    return [ratio("P1", "supervised /bin/true, 2 commits / subprocess.run", ours, bare, "<= 4", milliseconds)]


async def open_writer(path: Path) -> GroupWriter:
    return GroupWriter(path, create=True)


async def supervise(writer: GroupWriter, runner: DefaultCommandRunner) -> None:
    attempt = replace(ATTEMPT, started_at=time.time())
    attempt = replace(attempt, number=await writer.begin(attempt))
    done = await runner.run(COMMAND, lambda _: False)
    ended = replace(attempt, status="succeeded", exit_code=done.status, duration_ms=1)
    assert await writer.end(ended)
    assert done.status == 0


def start_bare() -> None:
    subprocess.run(["/bin/true"], check=True)


if __name__ == "__main__":
    show(measure())
