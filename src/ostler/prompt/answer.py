"""The structured answer: what an agent says where its program enforces a JSON schema."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from ostler.prompt.code import blocks_in, without_blocks
from ostler.prompt.mark import NO_REASON, Mark

# Every field is required and no other is allowed: the strictest of the agents' programs demand it.
ANSWER_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "status": {
            "type": "string",
            "enum": ["complete", "blocked", "continue"],
            "description": "complete: done and checked; blocked: cannot go on; continue: more to do",
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

# What they make is in the workspace, and their text is only about it. Research, spec, design, docs and review
# hand their text on: a document that is squeezed into a member of an object comes out short.
SHAPED_PHASES = frozenset({"implement", "test", "validate"})

_LABELS = frozenset({"json", ""})
_OPENING = re.compile(r"\{")
_TOKEN = re.compile(r'[{}]|"(?:[^"\\\n]|\\.)*+"?')  # braces in a string are text


class _Answer(Struct, frozen=True):
    status: str
    reason: str | None = None
    summary: str | None = None


def read_answer(text: str, prompt: str = "") -> Mark | None:
    """The answer that is the whole text, else the last one in a block or between braces that is no echo."""
    if (mark := _mark(text)) is not None:
        return mark
    for candidates in (list(blocks_in(text, _LABELS)), list(_objects(without_blocks(text)))):
        for candidate in reversed(candidates):
            mark = _mark(candidate) if _looks_whole(candidate) else None
            if mark is not None and candidate.strip() not in prompt:
                return mark
    return None


def words_of(text: str) -> str:
    """What an answer says in plain words; a text that is no such object, as it is."""
    mark = _mark(text)
    if mark is None:
        return text
    reason = "" if mark.reason in mark.summary else mark.reason
    return "\n\n".join(filter(None, (mark.summary, reason)))


def _looks_whole(candidate: str) -> bool:
    """In the middle of a text, an object with nothing but a status may be of any program's making."""
    return '"status"' in candidate and '"summary"' in candidate


def _mark(text: str) -> Mark | None:
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


def _objects(text: str) -> Iterator[str]:
    """What stands between matching braces, the outermost ones only; a brace without its other is text."""
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
