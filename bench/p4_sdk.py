"""P4: CPU per event of the same stream through the worker / through query() of claude-agent-sdk.

query() keeps nothing; the worker keeps transcript, log page, event file and notices. It needs the
optional package claude-agent-sdk.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
from pathlib import Path
from time import process_time

from measure import MICROSECONDS, Result, interleave, not_measured, ratio, scratch, show
from p3_stream import call_cpu, open_caller
from stream import write_stream

ROUNDS = 9
NAME = "CPU per event, same stream through us / claude-agent-sdk"
TARGET = "<= 0.5"
# The SDK sends an initialize request and waits for its response before it sends the prompt.
CLI = """#!/bin/sh
[ "$1" != -v ] || { echo '2.1.325 (Claude Code)'; exit; }
read -r request
id=$(printf %s "$request" | sed 's/.*"request_id": *"\\([^"]*\\)".*/\\1/')
echo '{"type":"control_response","response":{"subtype":"success","request_id":"'"$id"'","response":{}}}'
read -r prompt
exec cat __STREAM__
"""


def measure() -> list[Result]:
    if importlib.util.find_spec("claude_agent_sdk") is None:
        return [not_measured("P4", NAME, TARGET, "claude-agent-sdk is not installed")]
    import claude_agent_sdk  # loaded before the clock starts; it takes a second

    with scratch() as place, asyncio.Runner() as loop:
        stream = place / "stream.jsonl"
        events = write_stream(stream)
        options = claude_agent_sdk.ClaudeAgentOptions(cli_path=write_cli(place / "claude", stream))
        caller = loop.run(open_caller(place, stream))
        gc.freeze()  # so that neither side pays for the objects of the other's modules
        ours, theirs = interleave(
            lambda: loop.run(call_cpu(caller)) / events,
            lambda: loop.run(query_cpu(options, events)) / events,
            rounds=ROUNDS,
        )
        loop.run(caller.close())
    return [ratio("P4", NAME, ours, theirs, TARGET, MICROSECONDS)]


def write_cli(path: Path, stream: Path) -> Path:
    """Write a program that answers as claude does when the SDK drives it."""
    path.write_text(CLI.replace("__STREAM__", str(stream)))
    path.chmod(0o755)
    return path


async def query_cpu(options: object, events: int) -> float:
    """CPU of this process, all threads, for one query whose program prints the stream."""
    from claude_agent_sdk import query

    began, messages = process_time(), 0
    async for _ in query(prompt="Say hello", options=options):
        messages += 1
    spent = process_time() - began
    assert messages == events, f"the SDK gave {messages} messages of {events}"
    return spent


if __name__ == "__main__":
    show(measure())
