"""Whether an agent's final text says that the phase is complete or blocked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ostler.prompt.answer import read_answer
from ostler.prompt.code import without_code
from ostler.prompt.mark import NO_REASON, Mark

# Up to the next tag of its kind, without going back: a long text must not take longer than it is long.
_BLOCKED = r"<phase_blocked>(?P<reason>[^<]*+(?:<(?!/?phase_blocked>)[^<]*+)*+)</phase_blocked>"
_ANY = re.compile(rf"<(\w+)_complete>\s*+true\s*+</\1_complete>|{_BLOCKED}", re.IGNORECASE)
_TAG = re.compile(r"_complete>|phase_blocked>", re.IGNORECASE)
_NOTHING_ELSE = re.compile(r"(?:\s++|true|</?\w+_(?:complete|blocked)>)*+", re.IGNORECASE)


def check_phase_completion(
    text: str, phase: str, prompt: str = "", *, structured: bool = False
) -> Mark | None:
    """The structured answer where one is enforced, else the last mark in the text.

    Marks in code, in quotes and in echoes of the prompt do not count.
    """
    if structured and (answer := read_answer(text, prompt)) is not None:
        return answer
    tag = rf"(?:phase|{re.escape(phase)})"
    marks = re.compile(rf"<{tag}_complete>\s*+true\s*+</{tag}_complete>|{_BLOCKED}", re.IGNORECASE)
    last: Mark | None = None
    for found in marks.finditer(without_code("\n".join(_own_lines(text, prompt)))):
        reason = found["reason"]
        last = Mark("complete") if reason is None else Mark("blocked", reason.strip() or NO_REASON)
    return last


def without_marks(text: str) -> str:
    """The text as something to quote: no mark of any phase in it, a reason as plain words."""
    return _ANY.sub(lambda found: found["reason"] or "", text)


def _own_lines(text: str, prompt: str) -> Iterator[str]:
    """Every line but those with a tag that are quoted or echoed; the others keep code blocks whole."""
    told = set(_with_previous(prompt))
    lines = {line for _, line in told}
    for (previous, line), whole in zip(_with_previous(text), text.splitlines(), strict=True):
        if not _TAG.search(line):
            yield whole
        elif line.startswith(">") or (previous, line) in told:
            continue
        elif line not in lines or _NOTHING_ELSE.fullmatch(line):  # a bare mark is always the same line
            yield whole


def _with_previous(text: str) -> Iterator[tuple[str, str]]:
    """Each line with the last one before it that is not blank."""
    previous = ""
    for whole in text.splitlines():
        line = whole.strip()
        yield previous, line
        previous = line or previous
