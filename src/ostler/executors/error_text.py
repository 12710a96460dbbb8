"""Which texts are a provider's error, and not what an agent wrote about its work (C36, A17)."""

from __future__ import annotations

import re

_ANSWER = re.compile(
    r"\[?API Error: (?:\d{3}\b|Request rejected|Repeated \d{3}|Connection ).*"
    r"|Credit balance is too low\W*"
    r"|Invalid API key · .*|Not logged in · .*|Claude AI usage limit reached\|\d+"
)
_ERROR_LINE = re.compile(
    r"\W*(?:(?:(?:api )?\w*error|fatal|failed|failure|panic|http|status|code)\b|\d{3}\b"
    r"|rate.?limit|too many requests|resource.?exhausted|overloaded|credit balance"
    r"|(?:usage|weekly|daily) limit|\w*quota|you(?:'ve| have)? (?:hit|exceeded))",
    re.IGNORECASE,
)
_LONGEST_ANSWER, _LONGEST_LINE, _MOST_LINES = 1000, 300, 3


def is_error_answer(text: str) -> bool:
    """True when a final text is nothing but an API error, which some agents report as success."""
    line = text.strip()
    return len(line) <= _LONGEST_ANSWER and _ANSWER.fullmatch(line) is not None


def is_brief(text: str) -> bool:
    """Whether a text that is said to be an error can be one; longer ones are what the agent wrote."""
    lines = [line for line in text.splitlines() if line.strip()]
    short = len(text) <= _LONGEST_ANSWER and len(lines) <= _MOST_LINES
    return short or text.lstrip("[").startswith("API Error")


def error_line(output: str) -> str:
    """The last line of a failed program's output, where it begins as an error does; empty: it does not."""
    last = output.strip().rpartition("\n")[2]
    return last if len(last) <= _LONGEST_LINE and _ERROR_LINE.match(last) else ""
