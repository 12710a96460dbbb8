"""Windows and closed windows of accounts, as agents report them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from ostler.errors import Code
from ostler.model.limits.window import ANY, ReportedWindow, Source, Window, WindowStatus, WindowUse
from ostler.store.accounts.sqlite import open_accounts

HOUR = 3600.0
LENGTHS = {"five_hour": 5 * HOUR, "seven_day": 168 * HOUR, "seven_day_opus": 168 * HOUR}


def window_use(
    name: str,
    used: float | None,
    now: float,
    *,
    resets_in: float | None = 2 * HOUR,
    age: float = 180.0,
    provider: str = "claude",
    account: str = "",
    family: str = "",
    status: WindowStatus = "allowed",
    source: Source = "event",
) -> WindowUse:
    resets_at = None if resets_in is None else now + resets_in
    reported = ReportedWindow(name, used, resets_at, status, LENGTHS.get(name), family, source)
    window = Window("" if account else provider, account, family or ANY, name)
    return WindowUse(window, reported, now - age, account or provider)


def note_windows(environ: Mapping[str, str], *uses: WindowUse) -> None:
    with closing(open_accounts(environ)) as accounts:
        accounts.note_windows(uses)


def close_window(
    environ: Mapping[str, str],
    window: Window,
    until: float,
    now: float,
    code: Code = Code.QUOTA_EXCEEDED,
    message: str = "used up",
) -> None:
    with closing(open_accounts(environ)) as accounts:
        accounts.close_window(window, until, code, message, now)
