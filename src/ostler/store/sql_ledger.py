"""The ledger of cooldowns, retries and turns in tables of a database, for one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ostler.errors import Code, read_code
from ostler.model.limits.limit import (
    CLOCK_STEP_SECONDS,
    LEASE_SECONDS,
    Cooldown,
    start_cooldown,
)
from ostler.store.database import Database
from ostler.store.repeat import repeated

FAILPOINTS = ("ledger.write", "ledger.written")
_HOUR_SECONDS = 3600.0

_SELECT_COOLDOWNS = "SELECT choice, failures, until, code, message, noted_at, trying_until FROM breaker"
_SELECT_COOLDOWN = f"{_SELECT_COOLDOWNS} WHERE choice = $1"
_REPLACE_COOLDOWN = """
    INSERT INTO breaker (choice, failures, until, code, message, noted_at, trying_until)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (choice) DO UPDATE SET failures = excluded.failures, until = excluded.until,
        code = excluded.code, message = excluded.message, noted_at = excluded.noted_at,
        trying_until = excluded.trying_until"""
_DELETE_COOLDOWN = "DELETE FROM breaker WHERE choice = $1"
_LEASE_TRIAL = "UPDATE breaker SET trying_until = $1 WHERE choice = $2"
_DELETE_RETRIES = "DELETE FROM repeat WHERE at <= $1 OR at > $2"
_COUNT_RETRIES = "SELECT count(*) FROM repeat WHERE at > $1 AND at <= $2"
_INSERT_RETRY = "INSERT INTO repeat (at) VALUES ($1)"
_SELECT_REPORT = "SELECT 1 FROM retry_report WHERE at > $1 AND at <= $2"
_DELETE_REPORTS = "DELETE FROM retry_report"
_INSERT_REPORT = "INSERT INTO retry_report (at) VALUES ($1)"
_SELECT_TURN = "SELECT next FROM model_turn WHERE models = $1"
_REPLACE_TURN = """
    INSERT INTO model_turn (models, next) VALUES ($1, $2)
    ON CONFLICT (models) DO UPDATE SET next = excluded.next"""
_DELETE_TURNS = "DELETE FROM model_turn"


class SqlLedger:
    """A Ledger that all processes of a project can open at the same time; opened on first use.

    Times in the tables are those of the database's clock, as the clocks of several machines differ.
    """

    def __init__(self, open_database: Callable[[], Database]) -> None:
        self._open_database = open_database
        self._opened: Database | None = None

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    # Cooldowns

    @repeated
    def record_failure(
        self, model: str, code: Code, message: str, now: float, threshold: int, seconds: float
    ) -> bool:
        with self._db.transaction():
            known = self._read_cooldown(model)
            before = known if known is not None and known.is_valid(now) else start_cooldown(model, now)
            after = before.after_failure(code, message, now, threshold, seconds)
            if after is before:
                return False
            self._write_cooldown(after)
            return after.until is not None

    @repeated
    def record_success(self, model: str) -> bool:
        if self._read_cooldown(model) is None:
            return False
        with self._db.transaction():
            known = self._read_cooldown(model)
            after = known.after_success() if known is not None else None
            if after is None:
                self._db.run(_DELETE_COOLDOWN, model)
            else:
                self._write_cooldown(after)
            return known is not None and known.until is not None

    @repeated
    def check_cooldown(self, model: str, now: float) -> Cooldown | None:
        known = self._read_cooldown(model)
        if known is None or known.until is None or not known.is_valid(now):
            return None
        active = known.find_active(now)
        return self._lease_trial(model, now) if active is None else active

    def cooldowns(self, now: float) -> list[Cooldown]:
        found = map(self._to_cooldown, self._db.query(_SELECT_COOLDOWNS))
        return [one for one in found if one.is_valid(now)]

    # Retries

    @repeated
    def take_retry(self, now: float, per_hour: int) -> bool:
        with self._db.transaction():
            hour = self._hour_before(now)
            if self._db.run(_COUNT_RETRIES, *hour)[0][0] >= per_hour:
                return False
            self._db.run(_DELETE_RETRIES, *hour)
            self._db.run(_INSERT_RETRY, self._to_shared(now))
            return True

    def count_retries(self, now: float) -> int:
        return self._db.query(_COUNT_RETRIES, *self._hour_before(now))[0][0]

    @repeated
    def take_retry_report(self, now: float) -> bool:
        with self._db.transaction():
            if self._db.run(_SELECT_REPORT, *self._hour_before(now)):
                return False
            self._db.run(_DELETE_REPORTS)
            self._db.run(_INSERT_REPORT, self._to_shared(now))
            return True

    # Turns

    @repeated
    def take_turn(self, models: Sequence[str], after: str) -> None:
        with self._db.transaction():
            self._db.run(_REPLACE_TURN, "\n".join(models), (models.index(after) + 1) % len(models))

    def next_turn(self, models: Sequence[str]) -> int:
        found = self._db.query(_SELECT_TURN, "\n".join(models))
        return found[0][0] if found else 0

    @repeated
    def reset_turns(self) -> None:
        with self._db.transaction():
            self._db.run(_DELETE_TURNS)

    # Internal

    @property
    def _db(self) -> Database:
        if self._opened is None:
            self._opened = self._open_database()
        return self._opened

    def _read_cooldown(self, model: str) -> Cooldown | None:
        found = self._db.query(_SELECT_COOLDOWN, model)
        return self._to_cooldown(found[0]) if found else None

    def _write_cooldown(self, one: Cooldown) -> None:
        until, trying_until = map(self._to_shared, (one.until, one.trying_until))
        failure = (one.code, one.message, self._to_shared(one.noted_at), trying_until)
        self._db.run(_REPLACE_COOLDOWN, one.model, one.failures, until, *failure)

    def _lease_trial(self, model: str, now: float) -> Cooldown | None:
        with self._db.transaction():
            known = self._read_cooldown(model)
            # Another caller may have been faster.
            active = known.find_active(now) if known is not None else None
            if active is None:
                self._db.run(_LEASE_TRIAL, self._to_shared(now + LEASE_SECONDS), model)
            return active

    def _hour_before(self, now: float) -> tuple[float | None, float | None]:
        return self._to_shared(now - _HOUR_SECONDS), self._to_shared(now + CLOCK_STEP_SECONDS)

    def _to_cooldown(self, row: tuple[Any, ...]) -> Cooldown:
        model, failures, until, code, message, noted_at, trying_until = row
        local_until, local_trying_until = map(self._to_local, (until, trying_until))
        noted_at -= self._db.clock_offset
        return Cooldown(model, failures, local_until, read_code(code), message, noted_at, local_trying_until)

    def _to_shared(self, at: float | None) -> float | None:
        return at if at is None else at + self._db.clock_offset

    def _to_local(self, at: float | None) -> float | None:
        return at if at is None else at - self._db.clock_offset
