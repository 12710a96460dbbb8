"""A long claude stream for P3 and P4, and the agent program that prints it."""

from __future__ import annotations

from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "tests" / "data" / "claude" / "stream_tool_yolo.jsonl"
TURNS = 5000


def write_stream(path: Path) -> int:
    """Write a session of text, tool use, tool result, text, over and over; return the number of events."""
    first, *turn, last = SAMPLE.read_bytes().splitlines(keepends=True)
    with path.open("wb") as file:
        file.write(first)
        for number in range(TURNS):
            # Each message and each tool use of a real session has its own id.
            own = b"%06d" % number
            file.writelines(
                line.replace(b'"msg_4e8c0c', b'"msg_' + own)
                .replace(b'"msg_a6e472', b'"msg_x' + own)
                .replace(b'"toolu_886de4', b'"toolu_' + own)
                for line in turn
            )
        file.write(last)
    return TURNS * len(turn) + 2


def write_agent(path: Path, stream: Path) -> Path:
    """Write a program that prints the stream, for any arguments."""
    path.write_text(f"#!/bin/sh\nexec cat {stream}\n")
    path.chmod(0o755)
    return path
