"""P14: one gigabyte of output without a newline, into a transcript."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from measure import Result, peak_mb, scratch, seconds, show
from ostler.model.command import Command
from ostler.process.runner import DefaultCommandRunner

GIGABYTE = 2**30
ENV = {"PATH": os.environ["PATH"]}


def flood(transcript: Path) -> None:
    command = Command(("head", "-c", str(GIGABYTE), "/dev/zero"), "/", ENV, transcript=str(transcript))
    ended = asyncio.run(DefaultCommandRunner().run(command, lambda _: False))
    assert (ended.stdout_bytes, ended.long_lines) == (GIGABYTE, 1)


def measure() -> list[Result]:
    with scratch() as place:
        asyncio.run(DefaultCommandRunner().run(Command(("true",), "/", ENV), lambda _: False))
        before = peak_mb()
        took = seconds(lambda: flood(place / "raw"))
        grown = peak_mb() - before
    return [
        Result("P14", "1 GB without a newline: memory growth", grown, "< 64", "MB"),
        Result("P14", "1 GB without a newline: throughput", GIGABYTE / took / 1e6, ">= 100", "MB/s"),
    ]


if __name__ == "__main__":
    show(measure())
