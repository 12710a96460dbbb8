"""The ledger of cooldowns, retries and turns in the project's SQLite file, for one thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ostler.errors import Code, read_code
from ostler.model.limits.limit import (
    CLOCK_STEP_SECONDS,
    LEASE_SECONDS,
    Cooldown,
    start_cooldown,
)
from ostler.store.busy import StopRequest
from ostler.store.database import Database

_HOUR_SECONDS = 3600.0

_SELECT_COOLDOWNS = "SELECT choice, failures, until, code, message, noted_at, trying_until FROM breaker"
_SELECT_COOLDOWN = f"{_SELECT_COOLDOWNS} WHERE choice = ?"
_REPLACE_COOLDOWN = """
    INSERT OR REPLACE INTO breaker (choice, failures, until, code, message, noted_at, trying_until)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
_DELETE_COOLDOWN = "DELETE FROM breaker WHERE choice = ?"
_LEASE_TRIAL = "UPDATE breaker SET trying_until = ? WHERE choice = ?"
_DELETE_RETRIES = "DELETE FROM repeat WHERE at <= ? OR at > ?"
_COUNT_RETRIES = "SELECT count(*) FROM repeat WHERE at > ? AND at <= ?"
_INSERT_RETRY = "INSERT INTO repeat (at) VALUES (?)"
_SELECT_REPORT = "SELECT 1 FROM retry_report WHERE at > ? AND at <= ?"
_DELETE_REPORTS = "DELETE FROM retry_report"
_INSERT_REPORT = "INSERT INTO retry_report (at) VALUES (?)"
_SELECT_TURN = "SELECT next FROM model_turn WHERE models = ?"
_REPLACE_TURN = "INSERT OR REPLACE INTO model_turn (models, next) VALUES (?, ?)"
_DELETE_TURNS = "DELETE FROM model_turn"


class SqliteLedger:
    """A Ledger that all processes of a project can open at the same time; opened on first use."""

    def __init__(
        self,
        path: Path,
        *,
        busy_timeout_seconds: float = 5.0,
        wait_seconds: float = 0.0,
        stop: StopRequest | None = None,
    ) -> None:
        self.path = path
        self._wait_seconds = wait_seconds
        self._stop = stop
        self._busy_timeout_seconds = busy_timeout_seconds

    def close(self) -> None:
        if "_db" in self.__dict__:
            self._db.close()
            del self._db

    # Cooldowns

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

    def check_cooldown(self, model: str, now: float) -> Cooldown | None:
        known = self._read_cooldown(model)
        if known is None or known.until is None or not known.is_valid(now):
            return None
        active = known.find_active(now)
        return self._lease_trial(model, now) if active is None else active

    def cooldowns(self, now: float) -> list[Cooldown]:
        return [one for one in map(_to_cooldown, self._db.query(_SELECT_COOLDOWNS)) if one.is_valid(now)]

    # Retries

    def take_retry(self, now: float, per_hour: int) -> bool:
        hour = _hour_before(now)
        with self._db.transaction():
            if self._db.run(_COUNT_RETRIES, *hour)[0][0] >= per_hour:
                return False
            self._db.run(_DELETE_RETRIES, *hour)
            self._db.run(_INSERT_RETRY, now)
            return True

    def count_retries(self, now: float) -> int:
        return self._db.query(_COUNT_RETRIES, *_hour_before(now))[0][0]

    def take_retry_report(self, now: float) -> bool:
        with self._db.transaction():
            if self._db.run(_SELECT_REPORT, *_hour_before(now)):
                return False
            self._db.run(_DELETE_REPORTS)
            self._db.run(_INSERT_REPORT, now)
            return True

    # Turns

    def take_turn(self, models: Sequence[str], after: str) -> None:
        with self._db.transaction():
            self._db.run(_REPLACE_TURN, "\n".join(models), (models.index(after) + 1) % len(models))

    def next_turn(self, models: Sequence[str]) -> int:
        found = self._db.query(_SELECT_TURN, "\n".join(models))
        return found[0][0] if found else 0

    def reset_turns(self) -> None:
        with self._db.transaction():
            self._db.run(_DELETE_TURNS)

    # Internal

    @cached_property
    def _db(self) -> Database:
        failpoints = ("ledger.write", "ledger.written")
        return Database(
            self.path,
            busy_timeout_seconds=self._busy_timeout_seconds,
            failpoints=failpoints,
            wait_seconds=self._wait_seconds,
            stop=self._stop,
        )

    def _read_cooldown(self, model: str) -> Cooldown | None:
        found = self._db.query(_SELECT_COOLDOWN, model)
        return _to_cooldown(found[0]) if found else None

    def _write_cooldown(self, one: Cooldown) -> None:
        failure = (one.code, one.message, one.noted_at, one.trying_until)
        self._db.run(_REPLACE_COOLDOWN, one.model, one.failures, one.until, *failure)

    def _lease_trial(self, model: str, now: float) -> Cooldown | None:
        with self._db.transaction():
            known = self._read_cooldown(model)
            # Another caller may have been faster.
            active = known.find_active(now) if known is not None else None
            if active is None:
                self._db.run(_LEASE_TRIAL, now + LEASE_SECONDS, model)
            return active


def _hour_before(now: float) -> tuple[float, float]:
    return now - _HOUR_SECONDS, now + CLOCK_STEP_SECONDS


def _to_cooldown(row: tuple[Any, ...]) -> Cooldown:
    model, failures, until, code, *rest = row
    return Cooldown(model, failures, until, read_code(code), *rest)
