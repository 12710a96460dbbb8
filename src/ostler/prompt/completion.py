"""Finds out whether an agent's final text marks the phase as complete or blocked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ostler.prompt.answer import NO_REASON, Mark, read_answer
from ostler.prompt.code import strip_code

# Possessive, without backtracking, so that the time is linear.
_BLOCKED = r"<phase_blocked>(?P<reason>[^<]*+(?:<(?!/?phase_blocked>)[^<]*+)*+)</phase_blocked>"
_ANY = re.compile(rf"<(\w+)_complete>\s*+true\s*+</\1_complete>|{_BLOCKED}", re.IGNORECASE)
_TAG = re.compile(r"_complete>|phase_blocked>", re.IGNORECASE)
_ONLY_MARKS = re.compile(r"(?:\s++|true|</?\w+_(?:complete|blocked)>)*+", re.IGNORECASE)


def check_phase_completion(
    text: str, phase: str, prompt: str = "", *, structured: bool = False
) -> Mark | None:
    """Return the structured answer if `structured`, else the last mark in the text.

    Marks in code, in quotes and in echoes of the prompt do not count.
    """
    if structured and (answer := read_answer(text, prompt)) is not None:
        return answer
    tag = rf"(?:phase|{re.escape(phase)})"
    marks = re.compile(rf"<{tag}_complete>\s*+true\s*+</{tag}_complete>|{_BLOCKED}", re.IGNORECASE)
    last: Mark | None = None
    for found in marks.finditer(strip_code("\n".join(_drop_echoed_lines(text, prompt)))):
        reason = found["reason"]
        last = Mark("complete") if reason is None else Mark("blocked", reason.strip() or NO_REASON)
    return last


def strip_marks(text: str) -> str:
    """Return the text without marks of any phase; a reason stays as text."""
    return _ANY.sub(lambda found: found["reason"] or "", text)


def _drop_echoed_lines(text: str, prompt: str) -> Iterator[str]:
    """Yield all lines except quoted or echoed ones with a tag; others are kept, so that code blocks stay
    complete.
    """
    prompt_pairs = set(_pair_with_previous(prompt))
    lines = {line for _, line in prompt_pairs}
    for (previous, line), whole in zip(_pair_with_previous(text), text.splitlines(), strict=True):
        if not _TAG.search(line):
            yield whole
        elif line.startswith(">") or (previous, line) in prompt_pairs:
            continue
        elif line not in lines or _ONLY_MARKS.fullmatch(line):  # a bare mark is the same line in every text
            yield whole


def _pair_with_previous(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with the last non-blank one before it."""
    previous = ""
    for whole in text.splitlines():
        line = whole.strip()
        yield previous, line
        previous = line or previous
