"""Structured answers: the JSON schema that agents are given, and reading of their answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from ostler.lazy import lazy_pattern
from ostler.markdown import blank_blocks, locate_blocks

NO_REASON = "the agent gave no reason"

# Some agents require that every field is required and no other is allowed.
ANSWER_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "status": {
            "type": "string",
            "enum": ["complete", "blocked", "continue"],
            "description": "complete: done and checked; blocked: cannot continue; continue: more to do",
        },
        "reason": {"type": "string", "description": "why it is blocked; empty otherwise"},
        "summary": {
            "type": "string",
            "description": "your last message: what you did, what you found, what is left",
        },
    },
    "required": ["status", "reason", "summary"],
    "additionalProperties": False,
}

ANSWER_SCHEMA_JSON = msgspec.json.encode(ANSWER_SCHEMA).decode()

# Their results are in the workspace. The text of the other phases is passed on to later phases, and models
# write a shorter text when it is one field of an object.
STRUCTURED_PHASES = frozenset({"implement", "test", "validate"})

_LABELS = frozenset({"json", "jsonc", "json5", ""})
_KEYS = frozenset({"status", "reason", "summary", "message", "question"})
_AFTER_THE_LAST = lazy_pattern(r"[\s`~*_.]*+")  # what may follow an object that ends a text
_ONE_BLOCK = lazy_pattern(
    r"\s*+(`{3,}|~{3,})[ \t]*+(?:json\w*+)?[ \t]*+\n(?P<body>.*)\1\s*+", re.DOTALL | re.IGNORECASE
)
_OPENING = lazy_pattern(r"\{")
_TOKEN = lazy_pattern(r'[{}]|"(?:[^"\\\n]|\\.)*+"?')  # braces in a string are text


class Mark(Struct, frozen=True):
    """The agent's verdict on its phase: complete, blocked or continue (more to do)."""

    kind: Literal["complete", "blocked", "continue"]
    reason: str = ""
    summary: str = ""  # the final text in a structured answer


class _Answer(Struct, frozen=True):
    status: str
    reason: str | None = None
    summary: str | None = None
    message: object = None
    question: object = None


def read_answer(text: str, prompt: str = "") -> Mark | None:
    """Return the answer that is the whole text, else the last one in it, in a block or not; echoes are
    ignored.
    """
    found = locate_answer(text, prompt)
    return found[1] if found else None


def locate_answer(text: str, prompt: str = "") -> tuple[int, Mark] | None:
    """Return the answer of a text and the position where it starts."""
    if (mark := _decode_mark(text)) is not None:
        return 0, mark
    spans = sorted((*locate_blocks(text, _LABELS), *_find_objects(blank_blocks(text))), reverse=True)
    for start, end in spans:
        candidate = text[start:end]
        mark = _decode_mark(candidate) if '"status"' in candidate else None
        if mark is None or candidate.strip() in prompt:
            continue
        if _is_answer(candidate, mark) or _AFTER_THE_LAST.fullmatch(text, end):
            return start, mark
    return None


def _is_answer(candidate: str, mark: Mark) -> bool:
    """Inside a text, an object with only a status, or with other keys, may be the output of any program."""
    if '"summary"' in candidate:
        return True
    return mark.kind == "blocked" and mark.reason != NO_REASON and _has_only_known_keys(candidate)


def _has_only_known_keys(candidate: str) -> bool:
    return _KEYS.issuperset(msgspec.json.decode(candidate, type=dict[str, msgspec.Raw]))


def read_blocked_answer(text: str) -> Mark | None:
    """Return the blocked answer that is the whole text, in a block or not."""
    found = _ONE_BLOCK.fullmatch(text)
    content = found["body"] if found else text
    mark = _decode_mark(content)
    return mark if mark is not None and mark.kind == "blocked" and _has_only_known_keys(content) else None


def extract_text(text: str) -> str:
    """Return the text of a structured answer; any other text is unchanged."""
    mark = _decode_mark(text)
    if mark is None:
        return text
    reason = "" if mark.reason in mark.summary else mark.reason
    return "\n\n".join(filter(None, (mark.summary, reason)))


def _decode_mark(text: str) -> Mark | None:
    try:
        answer = msgspec.json.decode(text, type=_Answer)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    reason, summary = (answer.reason or "").strip(), (answer.summary or "").strip()
    match answer.status.strip().lower():
        case "complete" | "completed":
            return Mark("complete", summary=summary)
        case "continue":
            return Mark("continue", summary=summary)
        case "blocked" | "needs_input":
            other = next((text for text in (answer.question, answer.message) if isinstance(text, str)), "")
            return Mark("blocked", reason or other.strip() or summary or NO_REASON, summary)
        case _:
            return None


def _find_objects(text: str) -> Iterator[tuple[int, int]]:
    """Return start and end of the texts in matching outermost braces; a brace without a match is text."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    at = 0
    while found := (_TOKEN if opened else _OPENING).search(text, at):
        at = found.end()
        if found[0] == "{":
            opened.append(found.start())
        elif found[0] == "}":
            start = opened.pop()
            while pairs and pairs[-1][0] > start:
                pairs.pop()
            pairs.append((start, at))
    return iter(pairs)
