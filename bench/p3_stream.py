"""P3: CPU per streamed event, split, parsed and kept, against bare chunk-split and msgspec decode."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import msgspec

from measure import Result, minima, ratio, scratch, show
from ostler.executors.claude_stream import ClaudeStream
from ostler.process.lines import LineSplitter
from ostler.process.transcript import Transcript

SAMPLE = Path(__file__).parents[1] / "tests" / "data" / "claude" / "stream_tool_yolo.jsonl"
ROUNDS = 15
EVENTS = 20_000
CHUNK = 256 * 1024


def measure() -> list[Result]:
    stream = os.memfd_create("stream")
    _fill(stream)
    us, them = minima(lambda: ours(stream), lambda: bare(stream), rounds=ROUNDS)
    os.close(stream)
    name = "CPU per event, parsed and kept / bare split and decode"
    return [ratio("P3", name, us / EVENTS, them / EVENTS, "<= 2", lambda spent: f"{spent * 1e6:.2f} us")]


def ours(stream: int) -> float:
    """Read, keep, split, decode and tell: what the runner and the claude executor do."""
    told: list[object] = []
    with scratch() as place:
        transcript = Transcript(str(place / "transcript"))
        splitter, heard = LineSplitter(), ClaudeStream(told.append)
        began = process_time()
        for chunk in _chunks(stream):
            transcript.write(chunk)
            for line in splitter.feed(chunk):
                heard.take(line)
        spent = process_time() - began
        transcript.close()
    if len(told) < EVENTS // 2:
        sys.exit("the decoder heard too little")
    return spent


def bare(stream: int) -> float:
    """The least that any consumer does: chunks, lines, values; nothing kept, nobody told."""
    rest, began = b"", process_time()
    for chunk in _chunks(stream):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            msgspec.json.decode(line)
    return process_time() - began


def _fill(stream: int) -> None:
    """A long run: the session's start, then text, tool use, tool result, text, over and over."""
    first, *turn, _ = SAMPLE.read_bytes().splitlines(keepends=True)
    os.write(stream, first)
    for _ in range(EVENTS // len(turn)):
        os.write(stream, b"".join(turn))


def _chunks(stream: int) -> Iterator[bytes]:
    os.lseek(stream, 0, os.SEEK_SET)
    while chunk := os.read(stream, CHUNK):
        yield chunk


if __name__ == "__main__":
    show(measure())
