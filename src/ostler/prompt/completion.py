"""Finds out whether an agent's final text marks the phase as complete or blocked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ostler.lazy import lazy_pattern
from ostler.markdown import blank_code
from ostler.prompt.answer import (
    NO_REASON,
    Mark,
    extract_text,
    locate_answer,
    read_answer,
    read_blocked_answer,
)
from ostler.prompt.replies import strip_replies

# Possessive, without backtracking, so that the time is linear.
_BLOCKED = r"<phase_blocked>(?P<reason>[^<]*+(?:<(?!/?phase_blocked>)[^<]*+)*+)</phase_blocked>"
_VALUE = r"\s*+(?P<value>true|false)\s*+"  # false: not complete yet
_ANY = lazy_pattern(rf"<(\w+)_complete>{_VALUE}</\1_complete>|{_BLOCKED}", re.IGNORECASE)
_REASON_LABEL = lazy_pattern(r"\A\s*+reason\s*+:", re.IGNORECASE)
_OPEN_FENCE = lazy_pattern(r"(?:`{3,}|~{3,})[^\n]*\n\s*\Z")
_TAG = lazy_pattern(r"_complete>|phase_blocked>", re.IGNORECASE)
_ONLY_MARKS = lazy_pattern(r"(?:\s++|true|false|</?\w+_(?:complete|blocked)>)*+", re.IGNORECASE)


def check_phase_completion(
    text: str, phase: str, prompt: str = "", *, structured: bool = False
) -> Mark | None:
    """Return the structured answer if `structured`, else the last mark or JSON answer in the text.

    Marks in code, in quotes and in echoes of the prompt do not count.
    """
    if structured and (answer := read_answer(text, prompt)) is not None:
        return answer
    tag = rf"(?:phase|{re.escape(phase)})"
    marks = re.compile(rf"<{tag}_complete>{_VALUE}</{tag}_complete>|{_BLOCKED}", re.IGNORECASE)
    own = "\n".join(_drop_echoed_lines(text, prompt))
    last = _find_last_mark(marks, own)
    located = None if structured else locate_answer(text, prompt)
    if located is not None and (last is None or located[0] > text.rfind(own[last.start() : last.end()])):
        return located[1]
    return None if last is None else _to_mark(last, own)


def read_document_mark(text: str) -> Mark | None:
    """Return the mark that ends a document, or the blocked answer that is all of it; other marks are text."""
    found = _find_final_mark(text)
    return read_blocked_answer(text) if found is None else _to_mark(found, text)


def strip_final_mark(text: str) -> str:
    """Return the text without the mark that ends it and the space before it; any other text is unchanged.

    The reason of a blocked mark stays as text.
    """
    if (found := _find_final_mark(text)) is None:
        return text
    before, reason = text[: found.start()].rstrip(), (_read_reason(found, text) or "").strip()
    kept = "\n\n".join(filter(None, (before, reason)))
    return f"{kept}\n" if kept else ""


def read_final_words(text: str) -> str:
    """Return an agent's answer for a person: without marks, the JSON around it, and answers to a review."""
    words = extract_text(text)
    if words == text and (found := locate_answer(text)) is not None:
        before, mark = _OPEN_FENCE.sub("", text[: found[0]]), found[1]
        parts = (before, mark.summary if mark.summary not in before else "", mark.reason)
        words = "\n\n".join(part.strip() for part in parts if part.strip())
    return strip_marks(strip_replies(words)).strip()


def _find_last_mark(marks: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the last mark outside code; its groups have blanks instead of code."""
    last: re.Match[str] | None = None
    for found in marks.finditer(blank_code(text)):
        last = found
    return last


def _find_final_mark(text: str) -> re.Match[str] | None:
    """Return the mark at the very end, outside code and quotes."""
    last = _find_last_mark(_ANY, text)
    if last is None or text[last.end() :].strip():
        return None
    line = text[text.rfind("\n", 0, last.start()) + 1 : last.start()]
    return None if line.lstrip().startswith(">") else last


def _to_mark(found: re.Match[str], text: str) -> Mark:
    reason, value = _read_reason(found, text), found["value"]
    if reason is None:
        return Mark("complete" if value.lower() == "true" else "continue")
    return Mark("blocked", _REASON_LABEL.sub("", reason).strip() or NO_REASON)


def _read_reason(found: re.Match[str], text: str) -> str | None:
    """Return the reason of a mark with its code."""
    return None if found["reason"] is None else text[slice(*found.span("reason"))]


def strip_marks(text: str) -> str:
    """Return the text without marks of any phase, for a quote in a prompt; a reason stays as text."""
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
