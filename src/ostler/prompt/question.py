"""Finds the question that ends an agent's final text.

A text ends in a question when its last sentence outside code ends with a question mark. After the question
only a list of options, or sentences that ask for the reply ("Please let me know."), may follow.
"""

from __future__ import annotations

import re

from ostler.lazy import lazy_pattern
from ostler.markdown import strip_blocks

_LONGEST = 1000  # characters of a question; the whole answer is in the transcript
_MARKS = "?\uff1f\u061f"  # also full-width and Arabic
_END = lazy_pattern(
    rf"[{_MARKS}][\s{_MARKS}!*_`'\"\u201d\u2019)\]]*+(?:[(\[][^()\[\]\n]{{1,40}}[)\]][\s*_.:]*+)?\Z"
)
_OPTION = lazy_pattern(r"[ \t]*+(?:[-*+\u2022]|\(?\w{1,2}[.):])[ \t]++\S")
_SENTENCE_END = lazy_pattern(r"(?<=[.!:\u3002])[\s*_]++(?=\S)")
_ASKS_FOR_REPLY = lazy_pattern(
    r"[\s*_]*+(?:please|kindly|let me know|tell me|i(?:'|\u2019)?(?:ll| will| am|m)\b|once you|thanks|"
    r"thank you|waiting for|awaiting|reply|answer)\b",
    re.IGNORECASE,
)


def find_question(text: str) -> str:
    """Return the question that ends the text, with its options; empty if it ends in none."""
    lines = [line.rstrip() for line in strip_blocks(text).splitlines() if line.strip()]
    options: list[str] = []
    while lines and _OPTION.match(lines[-1]) and not _END.search(lines[-1]):
        options.insert(0, lines.pop())
    if not lines or lines[-1].lstrip().startswith((">", "#")):
        return ""
    sentences = _drop_requests(_SENTENCE_END.split(lines[-1].strip()))
    if not sentences or not _END.search(sentences[-1]):
        return ""
    return "\n".join((_last_questions(sentences), *options))[:_LONGEST]


def _drop_requests(sentences: list[str]) -> list[str]:
    """Leave out the sentences at the end that only ask for the reply."""
    kept = [part for sentence in sentences for part in _split_after_questions(sentence)]
    while len(kept) > 1 and _ASKS_FOR_REPLY.match(kept[-1]) and not _END.search(kept[-1]):
        kept.pop()
    return kept


def _split_after_questions(sentence: str) -> list[str]:
    return re.split(rf"(?<=[{_MARKS}])\s++(?=[^\s(\[])", sentence)


def _last_questions(sentences: list[str]) -> str:
    """Return the questions at the end, which may be several in a row."""
    first = len(sentences) - 1
    while first > 0 and _END.search(sentences[first - 1]):
        first -= 1
    return " ".join(sentences[first:]).strip(" *_")
