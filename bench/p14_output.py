"""P14: one gigabyte of output without a newline, into a transcript; and what a supervised program costs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path

from measure import interleave, peak_mb, report, seconds
from ostler.model.command import Command
from ostler.process.runner import DefaultCommandRunner

GIGABYTE = 2**30
ENV = {"PATH": os.environ["PATH"]}


def flood(transcript: Path) -> None:
    command = Command(("head", "-c", str(GIGABYTE), "/dev/zero"), "/", ENV, transcript=str(transcript))
    ended = asyncio.run(DefaultCommandRunner().run(command, lambda _: False))
    assert (ended.stdout_bytes, ended.long_lines) == (GIGABYTE, 1)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(DefaultCommandRunner().run(Command(("true",), "/", ENV), lambda _: False))
        before = peak_mb()
        took = seconds(lambda: flood(Path(folder) / "raw"))
        grown = peak_mb() - before
    report(
        "P14 1 GB without newline",
        f"{GIGABYTE / took / 1e6:.0f} MB/s, +{grown:.0f} MB",
        ">= 100 MB/s, < 64 MB",
    )
    with asyncio.Runner() as loop:
        runner = DefaultCommandRunner()
        command = Command(("/bin/true",), "/", ENV)
        ours, theirs = interleave(
            lambda: loop.run(runner.run(command, lambda _: False)),
            lambda: subprocess.run(["/bin/true"], check=True, capture_output=True, stdin=subprocess.DEVNULL),
            200,
        )
    figure = f"{ours / theirs:.2f} ({ours * 1000:.2f} ms / {theirs * 1000:.2f} ms)"
    report("P1 part: supervised /bin/true / subprocess.run", figure, "<= 2.5")


if __name__ == "__main__":
    main()
