"""Repeats a write whose transaction was lost with the connection to the database."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ostler.errors import Code, StateError
from ostler.store.database import Database
from ostler.waits import Wait

_TRIES = 10  # at least, and without a pause: each one waits for the database before it begins
_PAUSE_SECONDS = 1.0  # between later ones


class TransactionLost(StateError):
    """The connection broke in a transaction, of which nothing is committed; it can be repeated."""

    def __init__(self, message: str) -> None:
        super().__init__(Code.STORE_UNAVAILABLE, message, "try again; nothing was changed")


class _Writer(Protocol):
    @property
    def _db(self) -> Database: ...


_P = ParamSpec("_P")
_T = TypeVar("_T")
_Self = TypeVar("_Self", bound=_Writer)


def repeated(method: Callable[Concatenate[_Self, _P], _T]) -> Callable[Concatenate[_Self, _P], _T]:
    """Call a method that writes again, until its transaction is committed.

    Inside a transaction of the caller it is called once, as that transaction is lost with it.
    """

    @wraps(method)
    def call(self: _Self, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return repeat(self._db, lambda: method(self, *args, **kwargs))

    return call


def repeat(db: Database, write: Callable[[], _T]) -> _T:
    """Return the result of a call that makes one transaction; a run repeats it as long as it waits."""
    reasons: list[str] = []
    wait: Wait | None = None
    while True:
        try:
            result = write()
        except TransactionLost as lost:
            if db.in_transaction or db.stop.is_over():
                raise
            reasons.append(lost.message)
            if wait is None:
                wait = Wait(lambda: f"repeating a write: {reasons[-1]}", db.wait_seconds, _PAUSE_SECONDS)
            if len(reasons) < _TRIES:
                wait.check()
            elif not wait.pause():
                raise
        else:
            if wait is not None:
                wait.finish()
            return result
