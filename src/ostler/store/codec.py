"""Encodes and decodes the values of the store: JSON and the type of the event."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ostler.errors import Code, StateError
from ostler.model.attempt import Attempt
from ostler.model.event import Event
from ostler.model.notice import AttemptEnded, AttemptStarted, Notice
from ostler.secrets.redact import redact_bytes


class _Envelope(Struct):
    type: str


_encode = msgspec.json.Encoder().encode
_EVENT_TYPES = frozenset(str(kind.__struct_config__.tag) for kind in Event.__args__)


@cache
def _event_decoder() -> msgspec.json.Decoder[Event]:
    # Created on first use: for the whole union this takes longer than listing all tasks.
    return msgspec.json.Decoder(Event)


@cache
def _attempt_decoder() -> msgspec.json.Decoder[Attempt]:
    return msgspec.json.Decoder(Attempt)


def encode_event(event: Event | Notice | Raw) -> tuple[str, bytes]:
    """Return the type of the event and its JSON, without secrets."""
    if isinstance(event, Raw):
        return msgspec.json.decode(event, type=_Envelope).type, redact_bytes(bytes(event))
    return str(event.__struct_config__.tag), redact_bytes(_encode(event))


def encode_notices(notices: Sequence[Notice]) -> list[tuple[str, bytes]]:
    """Return the type of each notice and its JSON, without secrets."""
    from ostler.secrets.sequence import RedactingSequence  # noqa: PLC0415  (a list of tasks redacts nothing)

    bodies = RedactingSequence().redact([_encode(notice) for notice in notices])
    return [(str(one.__struct_config__.tag), body) for one, body in zip(notices, bodies, strict=True)]


def decode_event(kind: str, body: bytes) -> Event | Raw:
    """Return the event; as Raw when a newer version wrote a type that this version does not have."""
    if kind not in _EVENT_TYPES:
        return Raw(body)
    try:
        return _event_decoder().decode(body)
    except msgspec.DecodeError as error:
        raise _decode_error(kind, error) from error


def encode_attempt(attempt: Attempt) -> bytes:
    return redact_bytes(_encode(attempt))


def decode_attempt(body: bytes) -> Attempt:
    try:
        return _attempt_decoder().decode(body)
    except msgspec.DecodeError as error:
        raise _decode_error("attempt", error) from error


def mark_interrupted(attempt: Attempt) -> Attempt:
    """Return an attempt whose run ended before it."""
    message = "the run ended before the attempt did"
    return replace(attempt, status="interrupted", code=Code.INTERRUPTED, message=message)


def create_started_notice(attempt: Attempt) -> AttemptStarted:
    return AttemptStarted(
        attempt.number,
        attempt.phase,
        attempt.iteration,
        attempt.executor,
        attempt.model,
        attempt.session_id,
        attempt.resumed,
        attempt.sandbox,
    )


def create_ended_notice(attempt: Attempt) -> AttemptEnded:
    return AttemptEnded(
        attempt.number,
        attempt.status,
        attempt.code,
        attempt.message,
        attempt.exit_code,
        attempt.usage,
        attempt.cost_usd,
        attempt.sandbox,
        attempt.permissions,
    )


def calculate_end(attempt: Attempt) -> float:
    return attempt.started_at + (attempt.duration_ms or 0) / 1000


def _decode_error(kind: str, error: Exception) -> StateError:
    return StateError(
        Code.STATE_CORRUPT,
        f"the journal holds a {kind} that cannot be read: {error}",
        "upgrade Ostler if a newer version wrote it, or restore a backup; the file is not changed",
    )
