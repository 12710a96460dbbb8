"""Checks the criteria of an auto gate against the last answer of the phase."""

from __future__ import annotations

import re

from ostler.prompt.completion import check_phase_completion, strip_marks

_ERROR_PATTERNS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"^\[?(?:error|errors|fatal|fatal error|critical|panic)\]?\s*(?::|\]|!)\s*(?P<what>.*)", re.I),
        (r"^\[(?:error|fatal|critical)\]\s*(?P<what>.*)", re.I),
        (r":\s*(?:fatal\s+)?error\s*:\s*(?P<what>.*)", re.I),  # a compiler's: file:line: error: ...
        (r"^error\[\w+\]", re.I),
        (r"^(?:ERROR|FATAL)\s+\S", 0),
        (r"^npm ERR!", 0),
        (r"^Traceback \(most recent call last\)", 0),
        (r"^(?:E\s+)?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?:: .*)?$", 0),
        (r"\berrors?\s*[:=]\s*[1-9]", re.I),
    )
)
_ERROR_COUNT = re.compile(
    r"(?<![\d.,])0*[1-9]\d*\s+errors?\b(?!\s+(?:handl|case|path|messag|type|class|code|page))", re.I
)
_FIXED = re.compile(r"\b(?:fix|resolv|remov|correct|address|handl|eliminat|repair|clear|solv)\w*", re.I)
_NOTHING = re.compile(r"(?:none|no|no errors?|0|nothing|-|n/a)?\W*", re.I)
_DECORATION = re.compile(r"^[\s>*+`|#-]+|[\s*`|]+$")


def list_unmet_criteria(criteria: tuple[str, ...], text: str, phase: str) -> list[str]:
    """Return a message for each criterion that the text does not meet."""
    messages = (_check_criterion(criterion, text, phase) for criterion in criteria)
    return [message for message in messages if message]


def find_error_lines(text: str) -> list[str]:
    """Return the lines that report an error, without those that only mention errors."""
    lines = (_DECORATION.sub("", line) for line in text.splitlines())
    return [line for line in lines if _is_error_line(line)]


def _check_criterion(criterion: str, text: str, phase: str) -> str:
    match criterion:
        case "has_output":
            return "" if strip_marks(text).strip() else "has_output: the answer is empty"
        case "no_errors":
            found = find_error_lines(text)
            return f"no_errors: the answer reports {found[0][:200]!r}" if found else ""
        case "has_completion_marker":
            structured = text.lstrip().startswith("{")
            mark = check_phase_completion(text, phase, structured=structured)
            done = mark is not None and mark.kind == "complete"
            return "" if done else "has_completion_marker: the answer has none"
        case _:
            return "" if criterion in text else f"{criterion!r} does not occur in the answer"


def _is_error_line(line: str) -> bool:
    if _ERROR_COUNT.search(line) and not _FIXED.search(line):
        return True
    found = next(filter(None, (pattern.search(line) for pattern in _ERROR_PATTERNS)), None)
    if found is None:
        return False
    what = found.groupdict().get("what")
    return what is None or _NOTHING.fullmatch(what) is None
