"""Finds code in Markdown: fenced blocks and spans, in one pass each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ostler.lazy import lazy_pattern

_BLOCK = lazy_pattern(
    r"^ {0,3}(?:(`{3,}+)(?P<label>[^`\n]*+)|(~{3,}+)[^\n]*+)(?:\n|\Z)"
    r"(?P<body>.*?)(?:^ {0,3}(?:\1`*+|\3~*+)[ \t\r]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PARAGRAPH_END = lazy_pattern(r"\n[ \t\r]*+\n")
_TICKS = lazy_pattern(r"`+")


def strip_blocks(text: str) -> str:
    return _BLOCK.sub("", text)


def blank_blocks(text: str) -> str:
    """Return a text of the same length and with the same lines, with spaces instead of blocks."""
    return _BLOCK.sub(lambda found: _blank(found[0]), text)


def blank_code(text: str) -> str:
    """Return the same with spaces instead of spans, too; an unclosed block extends to the end."""
    paragraphs = re.split(f"({_PARAGRAPH_END.pattern})", blank_blocks(text))
    return "".join(_blank_spans(paragraph) for paragraph in paragraphs)


def find_blocks(text: str, labels: frozenset[str]) -> Iterator[str]:
    """Yield the content of blocks with one of these labels (`json` in "```json")."""
    return (text[start:end] for start, end in locate_blocks(text, labels))


def locate_blocks(text: str, labels: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of the same."""
    for found in _BLOCK.finditer(text):
        if (found["label"] or "").strip().lower() in labels:
            yield found.span("body")


def _blank_spans(paragraph: str) -> str:
    """A span ends at the next run of as many backticks; without one, the backticks are text."""
    runs = [found.span() for found in _TICKS.finditer(paragraph)]
    ends = _find_span_ends(runs)
    parts: list[str] = []
    at = 0
    for (start, _), end in zip(runs, ends, strict=True):
        if end is not None and start >= at:
            parts += [paragraph[at:start], _blank(paragraph[start:end])]
            at = end
    return "".join([*parts, paragraph[at:]])


def _blank(code: str) -> str:
    return re.sub(r"[^\n]", " ", code)


def _find_span_ends(runs: list[tuple[int, int]]) -> list[int | None]:
    """Return, for each run of backticks, the end of the next one of the same length."""
    ends: list[int | None] = []
    next_end: dict[int, int] = {}
    for start, end in reversed(runs):
        ends.append(next_end.get(end - start))
        next_end[end - start] = end
    return ends[::-1]
