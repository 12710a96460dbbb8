"""Replaces old names in the rows of a journal; part of its migration."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

import apsw
import msgspec

from ostler.errors import Code, StateError
from ostler.model.event import Event
from ostler.model.state import State
from ostler.store import codec
from ostler.store.sqlite import renames
from ostler.store.sqlite.statement import run

_PAGE = 2000

_FEED = "SELECT position, task, type, step, body, seq FROM feed WHERE position > ? ORDER BY position LIMIT ?"
_UPDATE_FEED = "UPDATE feed SET type = ?, step = ?, body = ? WHERE position = ?"
_TASKS = "SELECT id, status, state FROM task WHERE id > ? ORDER BY id LIMIT ?"
_UPDATE_TASK = "UPDATE task SET status = ?, state = ? WHERE id = ?"
_ATTEMPTS = """
    SELECT task, number, status, body FROM attempt
    WHERE (task, number) > (?, ?) ORDER BY task, number LIMIT ?"""
_UPDATE_ATTEMPT = "UPDATE attempt SET status = ?, body = ? WHERE task = ? AND number = ?"
_MESSAGES = "SELECT position, target, body FROM outbox"
_UPDATE_MESSAGE = "UPDATE outbox SET body = ? WHERE position = ? AND target = ?"
_UPDATE_READER = "UPDATE reader SET name = ? WHERE name = ?"

_Object = dict[str, Any]


def rewrite_names(db: apsw.Connection) -> None:
    """Rewrite every row that has an old name; raises StateError if a new row cannot be decoded.

    The caller begins and ends the transaction. Rows that are not JSON objects stay unchanged.
    """
    if not _has_renames():
        return
    _rewrite_feed(db)
    _rewrite_tasks(db)
    _rewrite_attempts(db)
    for position, target, body in run(db, _MESSAGES):
        if (renamed := _rewrite_body(body, "notification")) is not None:
            run(db, _UPDATE_MESSAGE, renamed, position, target)
    for old, new in renames.RENAMED_READERS.items():
        run(db, _UPDATE_READER, new, old)


def _has_renames() -> bool:
    tables = (
        renames.RENAMED_TAGS,
        renames.RENAMED_FIELDS,
        renames.RENAMED_VALUES,
        renames.RENAMED_STEPS,
        renames.RENAMED_READERS,
    )
    return any(tables)


def _rewrite_feed(db: apsw.Connection) -> None:
    last = 0
    while page := run(db, _FEED, last, _PAGE):
        for position, task, kind, step, body, seq in page:
            tag = _rename_tag(kind)
            renamed = _rewrite_body(body, kind)
            key = _rename_step(step)
            if renamed is None and (tag, key) == (kind, step):
                continue
            if seq is not None:
                decode = partial(_decode_event, kind, tag)
                _require_decodable(body if renamed is None else renamed, f"an event {tag} of {task}", decode)
            run(db, _UPDATE_FEED, tag, key, body if renamed is None else renamed, position)
        last = page[-1][0]


def _rewrite_tasks(db: apsw.Connection) -> None:
    last, decode = "", msgspec.json.Decoder(State).decode
    while page := run(db, _TASKS, last, _PAGE):
        for task, status, state in page:
            renamed = _rewrite_body(state, "state")
            if renamed is not None:
                _require_decodable(renamed, f"the state of {task}", decode)
                run(db, _UPDATE_TASK, _rename_value("state", "status", status), renamed, task)
        last = page[-1][0]


def _rewrite_attempts(db: apsw.Connection) -> None:
    last: tuple[str, int] = ("", 0)
    while page := run(db, _ATTEMPTS, *last, _PAGE):
        for task, number, status, body in page:
            renamed = _rewrite_body(body, "attempt")
            if renamed is not None:
                _require_decodable(renamed, f"attempt {number} of {task}", codec.decode_attempt)
                present = _rename_value("attempt", "status", status)
                run(db, _UPDATE_ATTEMPT, present, renamed, task, number)
        last = page[-1][:2]


def _rewrite_body(body: bytes, kind: str) -> bytes | None:
    """Return the JSON with its present names; None if nothing changes or if it is not an object."""
    try:
        found: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    before = cast("_Object", found)
    after = _rename_struct(kind, before)
    if kind in renames.RENAMED_TAGS:
        after["type"] = renames.RENAMED_TAGS[kind]
    return None if after == before else msgspec.json.encode(after)


def _rename_struct(kind: str, value: _Object) -> _Object:
    fields = renames.RENAMED_FIELDS.get(kind, {})
    nested = {**renames.NESTED_IN_ALL, **renames.NESTED.get(kind, {})}
    after: _Object = {}
    for name, member in value.items():
        if kind == "attempt" and name == "step":
            new = _rename_step(member)
        elif name in nested:
            new = _rename_nested(nested[name], member)
        else:
            new = _rename_value(kind, name, member)
        after[fields.get(name, name)] = new
    return after


def _rename_nested(kind: str, member: Any) -> Any:
    match member:
        case dict():
            return _rename_struct(kind, cast("_Object", member))
        case list():
            return [_rename_nested(kind, one) for one in cast("list[Any]", member)]
        case _:
            return member


def _rename_value(kind: str, name: str, member: Any) -> Any:
    values = renames.RENAMED_VALUES.get(kind, {}).get(name, {})
    match member:
        case str():
            return values.get(member, member)
        case list() if values:
            return [_rename_value(kind, name, one) for one in cast("list[Any]", member)]
        case _:
            return member


def _rename_tag(kind: str) -> str:
    return renames.RENAMED_TAGS.get(kind, kind)


def _rename_step(key: str) -> str:
    prefix, slash, last = key.rpartition("/")
    return f"{prefix}{slash}{renames.RENAMED_STEPS.get(last, last)}"


@cache
def _known_events() -> frozenset[str]:
    return frozenset(str(kind.__struct_config__.tag) for kind in Event.__args__)


def _decode_event(kind: str, tag: str, body: bytes) -> object:
    """Return the event; raises StateError if the new tag is not an event of this version."""
    if tag != kind and tag not in _known_events():
        raise StateError(Code.STATE_CORRUPT, f"{kind} was replaced by {tag}, which is not an event")
    return codec.decode_event(tag, body)


def _require_decodable(body: bytes, what: str, decode: Callable[[bytes], object]) -> None:
    """Raise StateError if this version cannot decode a row that it is about to write."""
    try:
        decode(body)
    except (msgspec.DecodeError, StateError) as error:
        raise StateError(
            Code.STATE_CORRUPT,
            f"the journal cannot be upgraded: {what} cannot be decoded with its new names: {error}",
            "the journal is unchanged; use the version of Ostler that wrote it, and report this error",
        ) from error
