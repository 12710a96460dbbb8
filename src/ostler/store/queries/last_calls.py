"""The last call of each model and of each executor, from the attempts of a project."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, OstlerError
from ostler.store import codec
from ostler.store.database import Database

_RECENT = 200  # attempts that are read: older ones say little about the present
_SELECT_RECENT = (
    "SELECT ended_at, body FROM attempt WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT ?"
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


def read_last_calls(path: Path) -> LastCalls:
    """Return the last calls; none when there is no journal, or when it cannot be read."""
    if not path.exists():
        return LastCalls()
    try:
        db = Database(path)
    except OstlerError:
        return LastCalls()
    try:
        return _collect(db)
    finally:
        db.close()


def _collect(db: Database) -> LastCalls:
    calls = LastCalls({}, {})
    for at, body in db.query(_SELECT_RECENT, _RECENT):
        attempt = codec.decode_attempt(body)
        if attempt.code is Code.INTERRUPTED:
            continue
        call = LastCall(at, attempt.code, attempt.message)
        calls.by_model.setdefault(attempt.model_name, call)
        calls.by_executor.setdefault(attempt.executor, call)
    return calls
