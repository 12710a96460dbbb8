"""What an agent says about its task outside its answer: `ostler report`, and the copy of its state file."""

from __future__ import annotations

from typing import Any, Literal, get_args

from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.status import TaskStatus, read_status

Said = Literal["complete", "blocked", "paused", "needs_review"]
STATUSES: tuple[Said, ...] = get_args(Said)

_LARGEST = 1 << 16  # characters; Ostler writes a few hundred
_WORDS: dict[TaskStatus, Said] = {
    TaskStatus.COMPLETED: "complete",
    TaskStatus.BLOCKED: "blocked",
    TaskStatus.FAILED: "blocked",
    TaskStatus.ABANDONED: "blocked",
    TaskStatus.PAUSED: "paused",
    TaskStatus.NEEDS_REVIEW: "needs_review",
}
_NO_WORD = frozenset({TaskStatus.PENDING, TaskStatus.ASSIGNED, TaskStatus.IN_PROGRESS, TaskStatus.REVISION})


class Word(Struct, frozen=True):
    """What the agent says of its task."""

    said: Said
    reason: str = ""


class Reading(Struct, frozen=True):
    """The word in a state file, or why there is none where one was meant."""

    word: Word | None = None
    warning: str = ""


class _Unreadable(Exception):
    """Not a state file; the text says what is wrong."""


def read_report(status: str, reason: str = "") -> Word:
    """The word of `ostler report`; raises UsageError for a status that an agent cannot give."""
    word = _word(status, reason)
    if word is None:
        raise UsageError(f"an agent cannot report {status!r:.80}", f"use one of {', '.join(STATUSES)}")
    return word


def read_state_word(text: str) -> Reading:
    """The word in an agent's copy of state.yaml; a status of work that goes on is none."""
    try:
        fields = _top_fields(text)
    except _Unreadable as problem:
        return Reading(warning=f"the agent's state file cannot be read: {problem}")
    status = fields.get("status", "")
    if (word := _word(status, fields.get("reason") or fields.get("message") or "")) is not None:
        return Reading(word)
    if not status:
        return Reading(warning="the agent's state file has no status")
    if _status(status) in _NO_WORD:
        return Reading()
    return Reading(warning=f"the agent's state file has a status that an agent cannot give: {status!r:.80}")


def _word(status: str, reason: str) -> Word | None:
    said = _WORDS.get(found) if (found := _status(status)) else None
    return Word(said, reason.strip()) if said else None


def _status(word: str) -> TaskStatus | None:
    plain = word.strip().lower().replace("-", "_").replace(" ", "_")
    if plain == "complete":
        return TaskStatus.COMPLETED
    try:
        return read_status(plain)
    except ValueError:
        return None


def _top_fields(text: str) -> dict[str, str]:
    """The plain values at the top of a YAML document, as written; nothing in it is constructed."""
    from ostler.files.yaml import YamlInvalid, compose_yaml  # noqa: PLC0415  (few agents touch their state)

    if len(text) > _LARGEST:
        raise _Unreadable("it is larger than 64 KiB")
    try:
        root: Any = compose_yaml(text, "state.yaml")
    except YamlInvalid as error:
        raise _Unreadable(error.what) from None
    if getattr(root, "id", "") != "mapping":
        raise _Unreadable("it is not a list of `key: value` lines")
    return {key.value: _as_written(value) for key, value in root.value}


def _as_written(node: Any) -> str:
    return node.value if node.id == "scalar" and not node.tag.endswith(":null") else ""
