"""Structured answers: the JSON schema that agents are given, and reading of their answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from ostler.prompt.code import find_blocks, strip_blocks

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

# Their results are in the workspace. The text of the other phases is passed on to later phases, and models
# write a shorter text when it is one field of an object.
STRUCTURED_PHASES = frozenset({"implement", "test", "validate"})

_LABELS = frozenset({"json", ""})
_OPENING = re.compile(r"\{")
_TOKEN = re.compile(r'[{}]|"(?:[^"\\\n]|\\.)*+"?')  # braces in a string are text


class Mark(Struct, frozen=True):
    """The agent's verdict on its phase: complete, blocked, or (only in a structured answer) continue."""

    kind: Literal["complete", "blocked", "continue"]
    reason: str = ""
    summary: str = ""  # the final text in a structured answer


class _Answer(Struct, frozen=True):
    status: str
    reason: str | None = None
    summary: str | None = None


def read_answer(text: str, prompt: str = "") -> Mark | None:
    """Return the answer that is the whole text, else the last one in a block or between braces; echoes are
    ignored.
    """
    if (mark := _decode_mark(text)) is not None:
        return mark
    for candidates in (list(find_blocks(text, _LABELS)), list(_find_objects(strip_blocks(text)))):
        for candidate in reversed(candidates):
            mark = _decode_mark(candidate) if _has_required_keys(candidate) else None
            if mark is not None and candidate.strip() not in prompt:
                return mark
    return None


def extract_text(text: str) -> str:
    """Return the text of a structured answer; any other text is unchanged."""
    mark = _decode_mark(text)
    if mark is None:
        return text
    reason = "" if mark.reason in mark.summary else mark.reason
    return "\n\n".join(filter(None, (mark.summary, reason)))


def _has_required_keys(candidate: str) -> bool:
    """Inside a text, an object with only a status may be the output of any program."""
    return '"status"' in candidate and '"summary"' in candidate


def _decode_mark(text: str) -> Mark | None:
    try:
        answer = msgspec.json.decode(text, type=_Answer)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    reason, summary = (answer.reason or "").strip(), (answer.summary or "").strip()
    match answer.status.strip().lower():
        case "complete":
            return Mark("complete", summary=summary)
        case "continue":
            return Mark("continue", summary=summary)
        case "blocked":
            return Mark("blocked", reason or summary or NO_REASON, summary)
        case _:
            return None


def _find_objects(text: str) -> Iterator[str]:
    """Return the texts between matching outermost braces; a brace without a match is text."""
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
    return (text[start:end] for start, end in pairs)
