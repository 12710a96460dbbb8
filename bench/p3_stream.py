"""P3: CPU per streamed event, split, parsed and kept / bare chunk-split and msgspec decode. One line."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import msgspec

from ostler.executors.claude_stream import ClaudeStream
from ostler.process.lines import LineSplitter
from ostler.process.transcript import Transcript

SAMPLE = Path(__file__).parents[1] / "tests" / "data" / "claude" / "stream_tool_yolo.jsonl"
ROUNDS = 15
EVENTS = 20_000
CHUNK = 256 * 1024


def main() -> None:
    """Interleave both, compare the minima, print one line."""
    stream = os.memfd_create("stream")
    _fill(stream)
    rounds = [(ours(stream), bare(stream)) for _ in range(ROUNDS)]
    us, them = (min(column) / EVENTS * 1e6 for column in zip(*rounds, strict=True))
    print(f"P3 stream: {us:.2f} us / {them:.2f} us per event = {us / them:.2f} (target <= 2.0)")


def ours(stream: int) -> float:
    """Read, keep, split, decode and tell: what the runner and the claude executor do."""
    told: list[object] = []
    with tempfile.TemporaryDirectory() as place:
        transcript = Transcript(str(Path(place, "transcript")))
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
    main()
