"""The parts of a store that are the same SQL in every database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from ostler.errors import OstlerError
from ostler.store.busy import StopRequest

if TYPE_CHECKING:
    from ostler.store.database import Database
    from ostler.store.gate_controls import GateControls
    from ostler.store.ledger import Ledger
    from ostler.store.outbox import Outbox
    from ostler.store.queries.last_calls import LastCalls
    from ostler.store.queries.past_attempts import History
    from ostler.store.reviews import Reviews
    from ostler.store.spending import SpendingReader

# Most commands need only the journal, so the other parts are imported when they are opened.
# ruff: noqa: PLC0415


class SqlParts:
    """Opens each part with a connection of its own."""

    def __init__(self, open_database: Callable[..., Database]) -> None:
        self._open = open_database

    def open_ledger(self, *, wait_seconds: float = 0.0, stop: StopRequest | None = None) -> Ledger:
        from ostler.store.sql_ledger import FAILPOINTS, SqlLedger

        return SqlLedger(partial(self._open, failpoints=FAILPOINTS, wait_seconds=wait_seconds, stop=stop))

    def open_outbox(self) -> Outbox:
        from ostler.store.outbox import FAILPOINTS, Outbox

        return Outbox(self._open(failpoints=FAILPOINTS))

    def open_spending(self) -> SpendingReader:
        from ostler.store.spending import SpendingReader

        return SpendingReader(self._open())

    def open_gate_controls(self, *, wait_seconds: float = 0.0) -> GateControls:
        from ostler.store.gate_controls import GateControls

        return GateControls(self._open(wait_seconds=wait_seconds))

    def open_reviews(self, *, wait_seconds: float = 0.0) -> Reviews:
        from ostler.store.reviews import Reviews

        return Reviews(self._open(wait_seconds=wait_seconds))

    def read_history(self) -> History:
        from ostler.store.queries.past_attempts import read_history

        with closing(self._open()) as db:
            return read_history(db)

    def read_last_calls(self) -> LastCalls:
        from ostler.store.queries.last_calls import LastCalls, read_last_calls

        try:
            db = self._open()
        except OstlerError:
            return LastCalls()
        with closing(db):
            return read_last_calls(db)
