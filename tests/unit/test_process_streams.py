"""Bytes to lines."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ostler.process.streams import LineSplitter


def split(chunks: list[bytes], max_bytes: int = 1000) -> tuple[list[bytes], int]:
    splitter = LineSplitter(max_bytes)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return lines + list(splitter.finish()), splitter.long_lines


def expected(data: bytes) -> list[bytes]:
    *whole, last = data.split(b"\n")
    return [line.removesuffix(b"\r") for line in [*whole, *([last] if last else [])]]


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_lines_do_not_depend_on_where_the_chunks_end(data: bytes, cuts: list[int]) -> None:
    """Any bytes, cut at any offset, give the same lines, with carriage returns at a cut."""
    data = data.replace(b"0", b"\n").replace(b"1", b"\r")
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[start:end] for start, end in pairwise(edges)]
    assert split(chunks) == (expected(data), 0)


def test_json_line_cut_at_every_offset_stays_whole() -> None:
    """A JSON line with multibyte characters is complete after a cut at each of its offsets."""
    line = json.dumps({"text": "Grüße 🐎"}, ensure_ascii=False).encode()
    for cut in range(len(line) + 2):
        whole = line + b"\r\n"
        assert split([whole[:cut], whole[cut:]]) == ([line], 0)


def test_long_line_is_skipped_to_its_end_and_counted() -> None:
    """The lines before and after a line that is too long are delivered, for any chunks."""
    data = b"before\n" + b"x" * 50 + b"\nafter"
    for size in (1, 7, 16, 200):
        chunks = [data[at : at + size] for at in range(0, len(data), size)]
        assert split(chunks, max_bytes=20) == ([b"before", b"after"], 1)


def test_long_last_line_without_newline_is_counted() -> None:
    """A stream that ends within a long line counts it too."""
    assert split([b"x" * 15, b"x" * 15], max_bytes=20) == ([], 1)


def test_line_of_exactly_the_limit_is_delivered() -> None:
    """The limit itself is allowed."""
    assert split([b"x" * 20 + b"\n"], max_bytes=20) == ([b"x" * 20], 0)


def test_memory_is_bounded_by_the_limit() -> None:
    """The kept part of a line that is too long does not grow."""
    splitter = LineSplitter(max_bytes=100)
    for _ in range(1000):
        assert list(splitter.feed(b"x" * 50)) == []
        assert sum(map(len, splitter._parts)) <= 100
