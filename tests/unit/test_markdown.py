"""Code in Markdown: blocks that are code, blocks that are not, and the time of the search."""

from __future__ import annotations

import time

import pytest

from ostler.markdown import blank_code, find_blocks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a `b` c", "a     c"),
        ("a ``b ` c`` d", "a           d"),
        ("a ` b", "a ` b"),
        ("a `b`` c", "a `b`` c"),
        ("don`t\n\nc`est", "don`t\n\nc`est"),
        ("a `b\nc` d", "a   \n   d"),
        ("a\n```\nb\n```\nc", "a\n   \n \n   \nc"),
        ("a\n```py\nb\n``\nc\n````\nd", "a\n     \n \n  \n \n    \nd"),
        ("~~~\n```\n~~~\na", "   \n   \n   \na"),
        ("```\n~~~\n```\na", "   \n   \n   \na"),
        ("```a``` is code\n\nb", "        is code\n\nb"),
        ("a\n```", "a\n   "),
        ("a\n```\nb", "a\n   \n "),
    ],
)
def test_code_is_blank(text: str, expected: str) -> None:
    """Blocks by their fences, spans by equal runs of backticks within a paragraph."""
    assert blank_code(text) == expected


def test_blocks_by_label() -> None:
    """Only those with the label, in order."""
    text = "```json\n1\n```\n```py\n2\n```\n``` JSON \n3\n```\n```\n4"
    assert list(find_blocks(text, frozenset({"json"}))) == ["1\n", "3\n"]
    assert list(find_blocks(text, frozenset({""}))) == ["4"]


def test_blank_code_keeps_lines_and_lengths() -> None:
    """Blocks and spans are spaces, also a span of two lines."""
    text = "a `b` c\n\n~~~\nd\n~~~\ne `f\ng` h `i"
    assert blank_code(text) == "a     c\n\n   \n \n   \ne   \n   h `i"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "text",
    [
        "x".join("`" * length for length in range(1500, 0, -1)),
        "x".join("`" * length for length in range(1, 1500)),
        "```\n" * 250_000,
        "```a\n" * 200_000,
        "\n   ```" * 150_000,
        "` " * 500_000,
        "\n \t" * 300_000,
    ],
    ids=["falling", "rising", "fences", "labelled", "indented", "ticks", "blank"],
)
def test_the_worst_text_takes_no_time(text: str) -> None:
    """A megabyte of backticks in any order."""
    begun = time.monotonic()
    blank_code(text)
    assert time.monotonic() - begun < 20
