"""The last call of each model and of each executor, from the attempts of a project."""

from __future__ import annotations

from msgspec import Struct

from ostler.errors import Code
from ostler.store import codec
from ostler.store.database import Database

_RECENT = 200  # attempts that are read: older ones say little about the present
_SELECT_RECENT = (
    "SELECT ended_at, body FROM attempt WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT $1"
)


class LastCall(Struct, frozen=True):
    """How the last attempt ended that was not interrupted."""

    at: float
    code: Code | None = None  # None: it succeeded
    message: str = ""


class LastCalls(Struct, frozen=True):
    """The last calls, by the name of the model and by the executor."""

    by_model: dict[str, LastCall] = {}
    by_executor: dict[str, LastCall] = {}


def read_last_calls(db: Database) -> LastCalls:
    """Return the last calls of a project."""
    calls = LastCalls({}, {})
    for at, body in db.query(_SELECT_RECENT, _RECENT):
        attempt = codec.decode_attempt(body)
        if attempt.code is Code.INTERRUPTED:
            continue
        call = LastCall(at, attempt.code, attempt.message)
        calls.by_model.setdefault(attempt.model_name, call)
        calls.by_executor.setdefault(attempt.executor, call)
    return calls
