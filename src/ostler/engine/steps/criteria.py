"""The criteria of an auto gate, held against what the phase said last."""

from __future__ import annotations

import re

from ostler.prompt.completion import check_phase_completion, without_marks

_REPORTS = tuple(
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
_COUNT = re.compile(
    r"(?<![\d.,])0*[1-9]\d*\s+errors?\b(?!\s+(?:handl|case|path|messag|type|class|code|page))", re.I
)
_MENDED = re.compile(r"\b(?:fix|resolv|remov|correct|address|handl|eliminat|repair|clear|solv)\w*", re.I)
_NOTHING = re.compile(r"(?:none|no|no errors?|0|nothing|-|n/a)?\W*", re.I)
_DECORATION = re.compile(r"^[\s>*+`|#-]+|[\s*`|]+$")


def unmet(criteria: tuple[str, ...], text: str, phase: str) -> list[str]:
    """What a phase's final text leaves open, each in a few words."""
    answers = (_against(criterion, text, phase) for criterion in criteria)
    return [answer for answer in answers if answer]


def error_lines(text: str) -> list[str]:
    """The lines that report an error; those that only speak of errors, or of none, are not among them."""
    lines = (_DECORATION.sub("", line) for line in text.splitlines())
    return [line for line in lines if _reports(line)]


def _against(criterion: str, text: str, phase: str) -> str:
    match criterion:
        case "has_output":
            return "" if without_marks(text).strip() else "has_output: the phase said nothing"
        case "no_errors":
            found = error_lines(text)
            return f"no_errors: it reports {found[0][:200]!r}" if found else ""
        case "has_completion_marker":
            structured = text.lstrip().startswith("{")
            mark = check_phase_completion(text, phase, structured=structured)
            done = mark is not None and mark.kind == "complete"
            return "" if done else "has_completion_marker: there is none"
        case _:
            return "" if criterion in text else f"{criterion!r} does not occur in its answer"


def _reports(line: str) -> bool:
    if _COUNT.search(line) and not _MENDED.search(line):
        return True
    found = next(filter(None, (pattern.search(line) for pattern in _REPORTS)), None)
    if found is None:
        return False
    what = found.groupdict().get("what")
    return what is None or _NOTHING.fullmatch(what) is None
