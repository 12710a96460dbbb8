"""P14: one gigabyte of output without a newline, into a transcript."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from measure import MEGABYTES, Result, Unit, peak_mb, scratch, seconds, show, single
from ostler.model.command import Command
from ostler.process.runner import DefaultCommandRunner

ROUNDS, GIGABYTE = 3, 2**30
CONTROL_MB, KEPT = 80, 2**20  # a transcript keeps the beginning and the end of an output that is too long
ENV = {"PATH": os.environ["PATH"]}


def flood(transcript: Path) -> None:
    command = Command(("head", "-c", str(GIGABYTE), "/dev/zero"), "/", ENV, transcript=str(transcript))
    ended = asyncio.run(DefaultCommandRunner().run(command, lambda _: False))
    assert (ended.stdout_bytes, ended.long_lines) == (GIGABYTE, 1)
    assert transcript.stat().st_size > KEPT, "the transcript is not kept"


def measure() -> list[Result]:
    rounds = [json.loads(subprocess.check_output([sys.executable, __file__, "once"])) for _ in range(ROUNDS)]
    grown, rates = [grown for grown, _ in rounds], [rate for _, rate in rounds]
    return [
        single("P14", "1 GB without a newline: memory growth", grown, "< 64", MEGABYTES, best=max),
        single("P14", "1 GB without a newline: throughput", rates, ">= 100", Unit("MB/s"), best=max),
    ]


def measure_once() -> tuple[float, float]:
    """Megabytes of growth and megabytes per second; in its own process, as a peak never goes down."""
    with scratch() as place:
        asyncio.run(DefaultCommandRunner().run(Command(("true",), "/", ENV), lambda _: False))
        before = peak_mb()
        took = seconds(lambda: flood(place / "raw"))
        grown = peak_mb() - before
    check_peak()
    return grown, GIGABYTE / took / 1e6


def check_peak() -> None:
    """Check that the counter includes memory that is really used."""
    before = peak_mb()
    size = (int(before) + CONTROL_MB) << 20
    taken = bytearray(size)
    taken[::4096] = b"x" * len(taken[::4096])
    assert peak_mb() > before + CONTROL_MB / 2


if __name__ == "__main__":
    if sys.argv[1:] == ["once"]:
        print(json.dumps(measure_once()))
    else:
        show(measure())
