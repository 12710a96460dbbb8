"""P3: CPU per streamed event through the whole path of a run / bare chunk-split and decode of the same pipe.

The whole path is the call of the worker: read, raw transcript, parse, log page, event file, and notices in
the journal.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
from pathlib import Path
from time import process_time

import msgspec

from caller import Caller
from measure import MICROSECONDS, Result, interleave, ratio, scratch, show
from stream import TURNS, write_agent, write_stream

ROUNDS = 9
CHUNK, PIPE = 256 * 1024, 1024 * 1024


def measure() -> list[Result]:
    with scratch() as place, asyncio.Runner() as loop:
        stream = place / "stream.jsonl"
        events = write_stream(stream)
        caller = loop.run(open_caller(place, stream))
        ours, bare = interleave(
            lambda: loop.run(call_cpu(caller)) / events,
            lambda: bare_cpu(stream, events) / events,
            rounds=ROUNDS,
        )
        check_kept(caller, stream)
        loop.run(caller.close())
    name = "CPU per event, whole path of a run / bare split and decode"
    return [ratio("P3", name, ours, bare, "<= 4", MICROSECONDS)]


async def open_caller(place: Path, stream: Path) -> Caller:
    return Caller(place / "project", "claude", write_agent(place / "agent", stream))


async def call_cpu(caller: Caller) -> float:
    """CPU of this process, all threads, for one call whose agent prints the stream."""
    began = process_time()
    await caller.call()
    return process_time() - began


def bare_cpu(stream: Path, events: int) -> float:
    """The least work of any consumer: chunks, lines, values; nothing is kept."""
    with subprocess.Popen(["cat", str(stream)], stdout=subprocess.PIPE, bufsize=0) as program:
        assert program.stdout is not None
        fcntl.fcntl(program.stdout, fcntl.F_SETPIPE_SZ, PIPE)
        rest, decoded, began = b"", 0, process_time()
        while chunk := os.read(program.stdout.fileno(), CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                msgspec.json.decode(line)
            decoded += len(lines)
        spent = process_time() - began
    assert decoded == events
    return spent


def check_kept(caller: Caller, stream: Path) -> None:
    """Check that the calls kept everything: raw bytes, tool uses in the log page, notices in the journal."""
    folder = caller.project.layout.task(caller.task)
    raw = sorted((folder / "transcripts").glob("*.jsonl"))
    assert [path.stat().st_size for path in raw] == [stream.stat().st_size] * ROUNDS
    page = max((folder / "transcripts").glob("*.md"), key=lambda path: path.stat().st_size)
    assert page.read_bytes().count(b"- Bash") == TURNS
    notices = caller.project.journal.position()
    assert notices >= ROUNDS * TURNS, f"the journal has only {notices} lines"


if __name__ == "__main__":
    show(measure())
