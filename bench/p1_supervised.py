"""P1: one /bin/true through the worker, with prompt, transcripts and two durable commits / subprocess.run."""

from __future__ import annotations

import asyncio
import subprocess

from caller import Caller
from measure import MILLISECONDS, Result, interleave, ratio, scratch, seconds, show

ROUNDS = 200
COMMITS = 2  # the begin and the end of the attempt, each awaited at synchronous=FULL


def measure() -> list[Result]:
    with scratch() as place, asyncio.Runner() as loop:
        caller = loop.run(_open(place))
        loop.run(caller.call())
        ours, bare = interleave(
            lambda: seconds(lambda: loop.run(caller.call())), lambda: seconds(start_bare), rounds=ROUNDS
        )
        ended = [attempt.status for attempt in caller.attempts]
        assert ended == ["succeeded"] * (ROUNDS + 1), "the journal misses attempts"
        loop.run(caller.close())
    name = f"/bin/true through the worker, {COMMITS} commits / subprocess.run"
    return [ratio("P1", name, ours, bare, "<= 4", MILLISECONDS)]


async def _open(place) -> Caller:
    return Caller(place / "project", "command", "/bin/true")


def start_bare() -> None:
    subprocess.run(["/bin/true"], check=True)


if __name__ == "__main__":
    show(measure())
