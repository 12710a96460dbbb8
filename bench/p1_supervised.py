"""P1: one /bin/true through the worker, with prompt, transcripts and two durable commits / subprocess.run."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

from caller import Caller
from measure import MILLISECONDS, Result, interleave, not_measured, ratio, scratch, seconds, show, single
from ostler.sandbox.box.tiers import choose_tier

ROUNDS, SANDBOXED_ROUNDS = 200, 20
COMMITS = 2  # the start of the attempt and the record of the call, each awaited at synchronous=FULL
NAME = f"/bin/true through the worker, {COMMITS} commits"


def measure() -> list[Result]:
    with scratch() as place, asyncio.Runner() as loop:
        ours, bare = measure_tier(loop, place / "off", "supervised", ROUNDS)
        rows = [ratio("P1", f"{NAME}, sandbox off / subprocess.run", ours, bare, "<= 4", MILLISECONDS)]
        chosen = choose_tier("auto", os.environ)
        if not chosen.is_sandbox:
            return [*rows, not_measured("P1", f"{NAME}, sandbox on", "<= 60", chosen.reason)]
        inside, _ = measure_tier(loop, place / "on", "auto", SANDBOXED_ROUNDS)
    return [*rows, single("P1", f"{NAME}, sandbox on", inside, "<= 60", MILLISECONDS)]


def measure_tier(
    loop: asyncio.Runner, place: Path, tier: str, rounds: int
) -> tuple[list[float], list[float]]:
    """Return the times of our calls and of bare starts, in turns."""
    caller = loop.run(_open(place, tier))
    loop.run(caller.call())
    ours, bare = interleave(
        lambda: seconds(lambda: loop.run(caller.call())), lambda: seconds(start_bare), rounds=rounds
    )
    ended = [attempt.status for attempt in caller.attempts]
    assert ended == ["succeeded"] * (rounds + 1), "the journal misses attempts"
    loop.run(caller.close())
    return ours, bare


async def _open(place: Path, tier: str) -> Caller:
    return Caller(place / "project", "command", "/bin/true", tier=tier)


def start_bare() -> None:
    subprocess.run(["/bin/true"], check=True)


if __name__ == "__main__":
    show(measure())
