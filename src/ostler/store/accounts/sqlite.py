"""The ledger of accounts in the user's SQLite file, for one thread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw
from msgspec import MsgspecError, Struct, msgpack

from ostler.errors import Code, read_code
from ostler.files.user_state import find_user_state
from ostler.model.limits.limit import (
    LEASE_SECONDS,
    Admission,
    Limit,
    Probe,
    check_admission,
    limit_on,
)
from ostler.model.limits.titles import account_id
from ostler.model.limits.window import CLOCK_STEP_SECONDS, ReportedWindow, Window, WindowUse
from ostler.store.accounts.file import FILE_NAME, AccountFile
from ostler.store.sqlite.statement import run

# A window is deleted when it is found open, so there are few rows: reading all of them is cheapest.
_SELECT_LIMITS = """
    SELECT provider, account, model, name, until, code, message, noted_at, probing_until, prober, closings,
        reported
    FROM closed_window"""
_REPLACE_LIMIT = """
    INSERT OR REPLACE INTO closed_window
        (provider, account, model, name, until, code, message, noted_at, prober, closings, reported)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', $9, $10)"""
_MAKE_DUE = "UPDATE closed_window SET until = $1 WHERE code = $2 AND until > $3"
_REPORT = """
    UPDATE closed_window SET reported = 1
    WHERE provider = $1 AND account = $2 AND model = $3 AND name = $4 AND NOT reported"""
_LEASE_PROBE = """
    UPDATE closed_window SET probing_until = $1, prober = $2
    WHERE provider = $3 AND account = $4 AND model = $5 AND name = $6"""
_RELEASE_PROBE = """
    UPDATE closed_window SET probing_until = NULL, prober = ''
    WHERE provider = $1 AND account = $2 AND model = $3 AND name = $4 AND prober = $5"""
_DELETE_PROBED = """
    DELETE FROM closed_window
    WHERE provider = $1 AND account = $2 AND model = $3 AND name = $4 AND probing_until IS NOT NULL"""
_DELETE_LIMIT = "DELETE FROM closed_window WHERE provider = $1 AND account = $2 AND model = $3 AND name = $4"
_DELETE_USE = "DELETE FROM window_use WHERE provider = $1 AND account = $2 AND model = $3 AND name = $4"
_SELECT_USES = "SELECT provider, account, model, name, reported, noted_at, label FROM window_use"
_REPLACE_USE = """
    INSERT INTO window_use (provider, account, model, name, reported, resets_at, noted_at, label)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT DO UPDATE SET
        reported = excluded.reported, resets_at = excluded.resets_at, noted_at = excluded.noted_at,
        label = excluded.label
    WHERE excluded.noted_at >= window_use.noted_at OR window_use.noted_at > $9"""
_P = ParamSpec("_P")
_R = TypeVar("_R")
_FORGET_SECONDS = 30 * 86_400.0  # after the last report of a window
_DELETE_OLD_USES = "DELETE FROM window_use WHERE noted_at < $1"
_encode_report = msgpack.Encoder().encode
_decode_report = msgpack.Decoder(ReportedWindow).decode


def open_accounts(
    environ: Mapping[str, str], on_problem: Callable[[str], None] = lambda _: None
) -> SqliteAccounts:
    """Return the ledger of the user; without a home directory it is kept in memory."""
    state = find_user_state(environ)
    return SqliteAccounts(state / FILE_NAME if state else None, on_problem)


class KnownLimits(Struct, frozen=True):
    """What the ledger of accounts contains at one time."""

    limits: tuple[Limit, ...] = ()
    windows: tuple[WindowUse, ...] = ()


def read_accounts(environ: Mapping[str, str], now: float) -> KnownLimits:
    """Read the ledger of the user without creating or changing it; empty when it cannot be read."""
    state = find_user_state(environ)
    if state is None or not (path := state / FILE_NAME).exists():
        return KnownLimits()
    with closing(SqliteAccounts(path, is_read_only=True)) as accounts:
        return KnownLimits(tuple(accounts.limits(now)), tuple(accounts.windows(now)))


def _keeps_working(
    method: Callable[Concatenate[SqliteAccounts, _P], _R],
) -> Callable[Concatenate[SqliteAccounts, _P], _R]:
    """Repeat the method in memory if the file cannot be used: limits must not stop work."""

    @wraps(method)
    def run_method(self: SqliteAccounts, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(self, *args, **kwargs)
        except (apsw.Error, OSError) as error:
            self.file.use_memory(error)
            return method(self, *args, **kwargs)

    return run_method


class SqliteAccounts:
    """An AccountLedger that all processes of a user can open at the same time; opened on first use."""

    def __init__(
        self,
        path: Path | None,
        on_problem: Callable[[str], None] = lambda _: None,
        *,
        is_read_only: bool = False,
    ) -> None:
        self.file = AccountFile(path, on_problem, is_read_only=is_read_only)

    def close(self) -> None:
        self.file.close()

    # Limits

    @_keeps_working
    def close_window(self, window: Window, until: float, code: Code, message: str, now: float) -> None:
        with self.file.transaction() as db:
            known = self._find_limit(db, window)
            if known is None or known.is_outdated(now):
                limit = limit_on(window, until, code, message, now)
            else:
                limit = known.extend(until, code, message, now)
            _write_limit(db, limit)

    @_keeps_working
    def open_circuit(
        self, window: Window, code: Code, message: str, now: float, first: float, longest: float
    ) -> float:
        with self.file.transaction() as db:
            known = self._find_limit(db, window)
            if known is None or not known.is_valid(now):
                limit = limit_on(window, now + first, code, message, now)
            else:
                limit = known.close_again(code, message, now, first, longest)
            if limit is not known:
                _write_limit(db, limit)
            return limit.until

    @_keeps_working
    def make_due(self, codes: Collection[Code], now: float) -> None:
        # Most ledgers have no such window, and a read needs no transaction.
        if any(limit.code in codes and limit.until > now for limit in self._read_limits()):
            with self.file.transaction() as db:
                for code in codes:
                    run(db, _MAKE_DUE, now, code, now)

    @_keeps_working
    def take_report(self, window: Window) -> bool:
        with self.file.transaction() as db:
            run(db, _REPORT, *_key(window))
            return db.changes() == 1

    @_keeps_working
    def admit(self, windows: Sequence[Window], caller: str, now: float) -> Admission:
        admission = _check_admission(self._read_limits(), windows, caller, now)
        if isinstance(admission, Probe):
            with self.file.transaction() as db:
                # Another caller may have been faster.
                admission = _check_admission(_read_limits(db), windows, caller, now)
                for window in admission.windows if isinstance(admission, Probe) else ():
                    run(db, _LEASE_PROBE, now + LEASE_SECONDS, caller, *_key(window))
        return admission

    @_keeps_working
    def release_probe(self, windows: Sequence[Window], caller: str) -> None:
        with self.file.transaction() as db:
            for window in windows:
                run(db, _RELEASE_PROBE, *_key(window), caller)

    @_keeps_working
    def reopen(self, window: Window) -> bool:
        with self.file.transaction() as db:
            run(db, _DELETE_PROBED, *_key(window))
            is_open = db.changes() == 1
            if is_open:
                _delete_rejected_use(db, window)
            return is_open

    @_keeps_working
    def end_limits(self, window: Window) -> None:
        with self.file.transaction() as db:
            for limit in _read_limits(db):
                if limit.window.applies_to(window):
                    run(db, _DELETE_LIMIT, *_key(limit.window))
                    _delete_rejected_use(db, limit.window)

    @_keeps_working
    def limits(self, now: float) -> list[Limit]:
        return [one for one in self._read_limits() if one.is_valid(now) and not one.is_outdated(now)]

    # Use

    @_keeps_working
    def note_windows(self, uses: Sequence[WindowUse]) -> None:
        if not uses:
            return
        now = max(use.noted_at for use in uses)
        with self.file.transaction() as db:
            run(db, _DELETE_OLD_USES, now - _FORGET_SECONDS)
            for use in uses:
                report = (_encode_report(use.reported), use.reported.resets_at, use.noted_at, use.label)
                run(db, _REPLACE_USE, *_key(use.window), *report, now + CLOCK_STEP_SECONDS)

    @_keeps_working
    def windows(self, now: float) -> list[WindowUse]:
        uses = map(_to_use, self.file.query(_SELECT_USES))
        return [use for use in uses if use is not None and use.is_valid(now)]

    @_keeps_working
    def forget(self, account: str) -> bool:
        with self.file.transaction() as db:
            limits = [limit.window for limit in _read_limits(db) if account_id(limit.window) == account]
            keys = (Window(*row[:4]) for row in run(db, _SELECT_USES))
            uses = [window for window in keys if account_id(window) == account]
            for window in limits:
                run(db, _DELETE_LIMIT, *_key(window))
            for window in uses:
                run(db, _DELETE_USE, *_key(window))
            return bool(limits or uses)

    # Internal

    def _find_limit(self, db: apsw.Connection, window: Window) -> Limit | None:
        return next((limit for limit in _read_limits(db) if limit.window == window), None)

    def _read_limits(self) -> list[Limit]:
        return [_to_limit(row) for row in self.file.query(_SELECT_LIMITS)]


def _read_limits(db: apsw.Connection) -> list[Limit]:
    return [_to_limit(row) for row in run(db, _SELECT_LIMITS)]


def _read_uses(db: apsw.Connection) -> list[WindowUse]:
    return [use for row in run(db, _SELECT_USES) if (use := _to_use(row)) is not None]


def _delete_rejected_use(db: apsw.Connection, window: Window) -> None:
    """Delete the use of a window that is open again; a report that came with the answer is kept."""
    for use in _read_uses(db):
        if use.window == window and use.reported.status == "rejected":
            run(db, _DELETE_USE, *_key(window))


def _check_admission(
    limits: Sequence[Limit], windows: Sequence[Window], caller: str, now: float
) -> Admission:
    matching = [one for one in limits if any(one.window.applies_to(window) for window in windows)]
    return check_admission(matching, caller, now)


def _write_limit(db: apsw.Connection, limit: Limit) -> None:
    closed = (limit.until, limit.code, limit.message, limit.noted_at, limit.closings, limit.reported)
    run(db, _REPLACE_LIMIT, *_key(limit.window), *closed)


def _key(window: Window) -> tuple[str, str, str, str]:
    return window.provider, window.account, window.model, window.window


def _to_limit(row: tuple[Any, ...]) -> Limit:
    until, code, *rest = row[4:11]
    return Limit(Window(*row[:4]), until, read_code(code), *rest, reported=bool(row[11]))


def _to_use(row: tuple[Any, ...]) -> WindowUse | None:
    """Return a use; None for one that is damaged, or that a newer version wrote."""
    report, noted_at, label = row[4:]
    try:
        return WindowUse(Window(*row[:4]), _decode_report(report), noted_at, label)
    except MsgspecError:
        return None
