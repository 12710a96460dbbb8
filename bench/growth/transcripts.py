"""The output of one attempt: from 1 MB to 1 GB."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from growth.curve import Curve, collect
from growth.server import serve
from measure import interleave, scratch, seconds
from sample import GIT, Sample
from stream import TURNS, write_stream

MEGABYTE = 2**20
SIZES = (1, 10, 100, 1000)
ROUNDS = 5
READERS = (
    "ostler show, CPU",
    "API: last page of the log",
    "API: search, first page",
    "API: steps, first page",
)
AGENT = """#!/bin/sh
head -n 1 {stream}
i=0
while [ $i -lt {times} ]; do cat {turns}; i=$((i + 1)); done
echo hello > hello.txt
tail -n 1 {stream}
"""


def measure() -> list[Curve]:
    rows = [measure_size(size) for size in SIZES]
    return [
        Curve(
            "transcripts",
            "Reading a transcript",
            "MB of output",
            "ms",
            SIZES,
            collect(READERS, [readers for readers, _ in rows]),
            "Minimum of 5 of a task whose agent printed a session of claude of this size. A transcript keeps "
            "the first 256 MB of an attempt.",
        ),
        Curve(
            "transcripts-run",
            "Writing a transcript",
            "MB of output",
            "s, MB",
            SIZES,
            collect(("time, s", "CPU of the run, s", "peak memory, MB"), [run for _, run in rows]),
            "One `ostler run`, whose agent prints as fast as it is read; the start included.",
        ),
    ]


def measure_size(size: int) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Times of readers in ms; seconds and CPU seconds of the run, and its peak memory in MB."""
    with scratch() as place:
        sample = Sample(place)
        write_agent(sample, place, size * MEGABYTE)
        began = time.perf_counter()
        used = sample.ostler("run", "-p", "Say much")
        took = time.perf_counter() - began
        task = one_task(sample.root)
        with serve(sample.root, sample.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}) as api:
            base = f"/tasks/{task}"
            show, log, search, steps = interleave(
                lambda: sample.cpu("show", task),
                lambda: seconds(lambda: api.get(f"{base}/attempts/1/log?offset=-1")),
                lambda: seconds(lambda: api.get(f"{base}/search?q=nowhere-to-be-found")),
                lambda: seconds(lambda: api.get(f"{base}/steps")),
                rounds=ROUNDS,
            )
    print(f"transcripts {size} MB: run {took:.1f} s, {used.ru_maxrss / 1024:.0f} MB", file=sys.stderr)
    run = (took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
    return tuple(min(values) * 1e3 for values in (show, log, search, steps)), run


def write_agent(sample: Sample, place: Path, size: int) -> None:
    """A program that prints a session of about this size."""
    stream, turns = place / "stream", place / "turns"
    write_stream(stream)
    lines = stream.read_bytes().splitlines(keepends=True)[1:-1]
    each = sum(map(len, lines)) // TURNS
    wanted = max(1, size // each)
    part = min(wanted, TURNS)
    turns.write_bytes(b"".join(lines[: part * (len(lines) // TURNS)]))
    sample.agent.write_text(AGENT.format(stream=stream, turns=turns, times=max(1, wanted // part)))


def one_task(root: Path) -> str:
    branches = subprocess.run(
        [*GIT, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/ostler"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return branches.stdout.strip()
