"""The ledger in the project's SQLite file, for one thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ostler.errors import Code, read_code
from ostler.model.limit import (
    LEASE_SECONDS,
    STEP_SECONDS,
    Admission,
    Limit,
    Probe,
    Rest,
    Window,
    admission,
    fresh,
    limit_on,
)
from ostler.store.database import Database

_HOUR_SECONDS = 3600.0

# A closed window is gone when it is found open, so there are few: reading all is the cheapest.
_SELECT_LIMITS = """
    SELECT provider, account, model, name, until, code, message, noted_at, probing_until, prober
    FROM limit_window"""
_REPLACE_LIMIT = """
    INSERT OR REPLACE INTO limit_window
        (provider, account, model, name, until, code, message, noted_at, prober)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')"""
_LEASE_PROBE = """
    UPDATE limit_window SET probing_until = ?, prober = ?
    WHERE provider = ? AND account = ? AND model = ? AND name = ?"""
_DELETE_PROBED = """
    DELETE FROM limit_window
    WHERE provider = ? AND account = ? AND model = ? AND name = ? AND probing_until IS NOT NULL"""
_SELECT_RESTS = "SELECT choice, failures, until, code, message, noted_at, trying_until FROM breaker"
_SELECT_REST = f"{_SELECT_RESTS} WHERE choice = ?"
_REPLACE_REST = """
    INSERT OR REPLACE INTO breaker (choice, failures, until, code, message, noted_at, trying_until)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
_DELETE_REST = "DELETE FROM breaker WHERE choice = ?"
_LEASE_TRIAL = "UPDATE breaker SET trying_until = ? WHERE choice = ?"
_DELETE_REPEATS = "DELETE FROM repeat WHERE at <= ? OR at > ?"
_COUNT_REPEATS = "SELECT count(*) FROM repeat WHERE at > ? AND at <= ?"
_INSERT_REPEAT = "INSERT INTO repeat (at) VALUES (?)"


class SqliteLedger:
    """A Ledger that every process of a project may open at the same time; the file is opened on first use."""

    def __init__(self, path: Path, *, busy_timeout_seconds: float = 5.0) -> None:
        self.path = path
        self._busy_timeout_seconds = busy_timeout_seconds

    def close(self) -> None:
        if "_db" in self.__dict__:
            self._db.close()
            del self._db

    # Limits

    def close_window(self, window: Window, until: float, code: Code, message: str, now: float) -> None:
        with self._db.transaction():
            known = next((limit for limit in self._read_limits() if limit.window == window), None)
            if known is None:
                limit = limit_on(window, until, code, message, now)
            else:
                limit = known.extended(until, code, message, now)
            self._db.run(_REPLACE_LIMIT, *_key(window), limit.until, limit.code, limit.message, now)

    def admit(self, windows: Sequence[Window], who: str, now: float) -> Admission:
        answer = self._admission(windows, who, now)
        if isinstance(answer, Probe):
            with self._db.transaction():
                answer = self._admission(windows, who, now)  # another may have been faster
                for window in answer.windows if isinstance(answer, Probe) else ():
                    self._db.run(_LEASE_PROBE, now + LEASE_SECONDS, who, *_key(window))
        return answer

    def reopen(self, window: Window) -> bool:
        with self._db.transaction():
            self._db.run(_DELETE_PROBED, *_key(window))
            return self._db.connection.changes() == 1

    def limits(self, now: float) -> list[Limit]:
        return [limit for limit in self._read_limits() if limit.stands(now)]

    # Choices

    def fail(self, choice: str, code: Code, message: str, now: float, threshold: int, seconds: float) -> bool:
        with self._db.transaction():
            known = self._read_rest(choice)
            before = known if known is not None and known.stands(now) else fresh(choice, now)
            after = before.failed(code, message, now, threshold, seconds)
            if after is before:
                return False
            self._write_rest(after)
            return after.until is not None

    def succeed(self, choice: str) -> bool:
        if self._read_rest(choice) is None:
            return False
        with self._db.transaction():
            known = self._read_rest(choice)
            after = known.recovered() if known is not None else None
            if after is None:
                self._db.run(_DELETE_REST, choice)
            else:
                self._write_rest(after)
            return known is not None and known.until is not None

    def rest(self, choice: str, now: float) -> Rest | None:
        known = self._read_rest(choice)
        if known is None or known.until is None or not known.stands(now):
            return None
        answer = known.turned_away(now)
        return self._try(choice, now) if answer is None else answer

    def rests(self, now: float) -> list[Rest]:
        return [rest for rest in map(_rest, self._db.ask(_SELECT_RESTS)) if rest.stands(now)]

    # Repeats

    def spend_repeat(self, now: float, per_hour: int) -> bool:
        hour = (now - _HOUR_SECONDS, now + STEP_SECONDS)
        with self._db.transaction():
            if self._db.run(_COUNT_REPEATS, *hour)[0][0] >= per_hour:
                return False
            self._db.run(_DELETE_REPEATS, *hour)
            self._db.run(_INSERT_REPEAT, now)
            return True

    # Steps of all

    @cached_property
    def _db(self) -> Database:
        failpoints = ("ledger.write", "ledger.written")
        return Database(self.path, busy_timeout_seconds=self._busy_timeout_seconds, failpoints=failpoints)

    def _admission(self, windows: Sequence[Window], who: str, now: float) -> Admission:
        noted = self._read_limits()
        met = [limit for limit in noted if any(limit.window.concerns(window) for window in windows)]
        return admission(met, who, now)

    def _read_limits(self) -> list[Limit]:
        return [_limit(row) for row in self._db.ask(_SELECT_LIMITS)]

    def _read_rest(self, choice: str) -> Rest | None:
        found = self._db.ask(_SELECT_REST, choice)
        return _rest(found[0]) if found else None

    def _write_rest(self, rest: Rest) -> None:
        told = (rest.code, rest.message, rest.noted_at, rest.trying_until)
        self._db.run(_REPLACE_REST, rest.choice, rest.failures, rest.until, *told)

    def _try(self, choice: str, now: float) -> Rest | None:
        with self._db.transaction():
            known = self._read_rest(choice)
            answer = known.turned_away(now) if known is not None else None  # another may have been faster
            if answer is None:
                self._db.run(_LEASE_TRIAL, now + LEASE_SECONDS, choice)
            return answer


def _key(window: Window) -> tuple[str, str, str, str]:
    return window.provider, window.account, window.model, window.window


def _limit(row: tuple[Any, ...]) -> Limit:
    until, code, *rest = row[4:]
    return Limit(Window(*row[:4]), until, read_code(code), *rest)


def _rest(row: tuple[Any, ...]) -> Rest:
    choice, failures, until, code, *rest = row
    return Rest(choice, failures, until, read_code(code), *rest)
