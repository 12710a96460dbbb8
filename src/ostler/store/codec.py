"""Values as the store keeps them: JSON, with the event's name beside it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ostler.errors import Code, StateError
from ostler.model.attempt import Attempt
from ostler.model.event import Event
from ostler.model.notice import AttemptEnded, AttemptStarted, Notice


class _Envelope(Struct):
    type: str


_encode = msgspec.json.Encoder().encode
_KNOWN = frozenset(str(kind.__struct_config__.tag) for kind in Event.__args__)


@cache
def _events() -> msgspec.json.Decoder[Event]:
    """Made on first use: for the whole union that takes longer than a list of tasks does."""
    return msgspec.json.Decoder(Event)


@cache
def _attempts() -> msgspec.json.Decoder[Attempt]:
    return msgspec.json.Decoder(Attempt)


def encode_event(event: Event | Notice | Raw) -> tuple[str, bytes]:
    """The event's name and its JSON."""
    if isinstance(event, Raw):
        return msgspec.json.decode(event, type=_Envelope).type, bytes(event)
    return str(event.__struct_config__.tag), _encode(event)


def decode_event(kind: str, body: bytes) -> Event | Raw:
    """The event; as Raw when a newer version wrote one that this version does not know."""
    if kind not in _KNOWN:
        return Raw(body)
    try:
        return _events().decode(body)
    except msgspec.DecodeError as error:
        raise _unreadable(kind, error) from error


def encode_ids(tasks: Iterable[str]) -> str:
    """A list of ids for json_each."""
    return _encode(list(tasks)).decode()


def encode_attempt(attempt: Attempt) -> bytes:
    return _encode(attempt)


def decode_attempt(body: bytes) -> Attempt:
    try:
        return _attempts().decode(body)
    except msgspec.DecodeError as error:
        raise _unreadable("attempt", error) from error


def interrupted(attempt: Attempt) -> Attempt:
    """The attempt as it stands when the run that started it is gone."""
    message = "the run ended before the attempt did"
    return replace(attempt, status="interrupted", code=Code.INTERRUPTED, message=message)


def started_notice(attempt: Attempt) -> AttemptStarted:
    return AttemptStarted(
        attempt.number,
        attempt.phase,
        attempt.iteration,
        attempt.executor,
        attempt.model,
        attempt.session_id,
        attempt.resumed,
    )


def ended_notice(attempt: Attempt) -> AttemptEnded:
    return AttemptEnded(
        attempt.number,
        attempt.status,
        attempt.code,
        attempt.message,
        attempt.exit_code,
        attempt.usage,
        attempt.cost_usd,
    )


def ended_at(attempt: Attempt) -> float:
    return attempt.started_at + (attempt.duration_ms or 0) / 1000


def _unreadable(kind: str, error: Exception) -> StateError:
    return StateError(
        Code.STATE_CORRUPT,
        f"the journal holds a {kind} that cannot be read: {error}",
        "a newer Ostler wrote it, or it is damaged; the file is kept: upgrade, or restore a backup",
    )
