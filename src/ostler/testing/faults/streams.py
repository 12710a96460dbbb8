"""Faults of the standard streams."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from .everyday import begin

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent


def a8_never_reads(agent: FakeAgent) -> int:
    """Work without reading the prompt."""
    agent.open_session()
    return agent.run()


def a9_closes_stdin(agent: FakeAgent) -> int:
    """Close stdin before the prompt is written."""
    os.close(0)
    agent.open_session()
    return agent.run()


def a10_flood(agent: FakeAgent) -> int:
    """Print behaviour["bytes"] without a newline, then a good result."""
    begin(agent)
    block = b"x" * (1 << 20)
    for _ in range(agent["bytes"] >> 20):
        agent.print_bytes(block)
    agent.print_bytes(b"\n")
    return agent.run()


def a11_many_lines(agent: FakeAgent) -> int:
    """Print behaviour["count"] times 50,000 lines that are not JSON."""
    begin(agent)
    block = b"y\n" * 50_000
    for _ in range(max(1, agent["count"])):
        agent.print_bytes(block)
    return agent.run()


def a12_bad_bytes(agent: FakeAgent) -> int:
    """Print a byte order mark, invalid UTF-8 and lone surrogates."""
    begin(agent)
    agent.print_bytes(b'\xef\xbb\xbf{"type":"system","subtype":"status"}\n\xff\xfe\x00\x80\n\r\r\r\n')
    agent.print_bytes(
        b'{"type":"assistant","message":{"content":[{"type":"text","text":"lone \\ud800 half"}]}}\n'
    )
    agent.print_bytes(
        b'{"type":"assistant","message":{"content":[{"type":"text","text":"bad \xff\x00 byte"}]}}\n'
    )
    return agent.run()


def a13_escapes(agent: FakeAgent) -> int:
    """Print terminal escape sequences and invisible characters."""
    begin(agent)
    agent.say("\x1b[2J\x1b]52;c;aGk=\x07\x1b]8;;http://evil.test\x07link\x1b]8;;\x07\u202egnp.exe\U000e0041")
    agent.print_bytes(b"\x1bP1$r0 q\x1b\\\x1b[31mnot json\n")
    return agent.run()


def a14_broken_json(agent: FakeAgent) -> int:
    """Print a truncated line, a line in two writes with stderr in between, and a line over every limit."""
    begin(agent)
    agent.print_bytes(b'{"type":"assistant","message":{"content":[{"type":"te\n{"type":"assistant","mess')
    os.write(2, b"a warning in between\n")
    time.sleep(0.02)
    agent.print_bytes(b'age":{"content":[{"type":"text","text":"whole again"}]}}\n')
    agent.print_bytes(b'{"type":"assistant","pad":"' + b"p" * agent["bytes"] + b'"}\n')
    return agent.run()


def a23_measures_prompt(agent: FakeAgent) -> int:
    """Answer with the size of the prompt, so that a truncated prompt is visible."""
    begun = begin(agent)
    if begun:
        return begun
    agent.wire.init(agent)
    agent.say_result(f"{len(agent.prompt.encode())} bytes, the longest line {_longest(agent.prompt)}")
    return 0


def _longest(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)
