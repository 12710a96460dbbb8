"""The accounts of the user: the use of each window, and the closed windows (ostler.limits/1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.clock import format_local_time, format_rfc3339, read_time
from ostler.errors import Code, is_provider_limit
from ostler.model.limits.families import is_in_family
from ostler.model.limits.limit import Limit, window_for
from ostler.model.limits.names import OVERAGE
from ostler.model.limits.titles import account_id, account_label, format_share, window_title
from ostler.model.limits.window import Source, Window, WindowStatus, WindowUse
from ostler.model.policy.model_config import ModelConfig

NEAR = 0.9  # used share from which a window is shown in the headers of screens
_SOURCES: dict[Source, str] = {
    "event": "agent event",
    "header": "response header",
    "body": "response body",
    "file": "session file",
    "text": "agent text",
}

Level = Literal["ok", "near", "stopped", "rejected"]
"""How full a window is; stopped: no further task starts on its account."""

AlertKind = Literal["near", "limited", "not_called"]


class WindowView(Struct, frozen=True, kw_only=True):
    """The use of one window, as last reported."""

    name: str  # as reported: five_hour, seven_day_opus, ...
    title: str  # on screens: five-hour, weekly opus, ...
    family: str  # models that it counts; empty: all
    used: float | None  # share; null: not reported
    resets_at: str | None
    status: WindowStatus
    level: Level
    source: Source
    source_title: str  # on screens
    reported_at: str
    length_seconds: float | None


class ClosedView(Struct, frozen=True, kw_only=True):
    """A window on which no call is made."""

    name: str
    title: str
    model: str | None  # null: all models of the account
    until: str  # the next call after it is the probe
    is_due: bool  # that time has passed, and no probe has succeeded yet
    is_probed: bool  # a call is probing it
    is_limit: bool  # true: a limit of the provider; false: login, billing, network or overload
    code: Code
    message: str


class AccountView(Struct, frozen=True, kw_only=True):
    id: str  # name in the settings, or key of its login
    label: str  # with what makes its login different
    name: str = ""  # the label without it, unless two accounts would have the same name
    models: tuple[str, ...] = ()  # of this project
    windows: tuple[WindowView, ...] = ()
    closed: tuple[ClosedView, ...] = ()

    @property
    def fullest(self) -> WindowView | None:
        """The window with the largest known use; overage begins after it."""
        known = [window for window in self.windows if window.used is not None and window.name != OVERAGE]
        return max(known, key=lambda window: window.used or 0.0, default=None)


class Alert(Struct, frozen=True, kw_only=True):
    """An account that is nearly used or closed."""

    account: str  # its name
    kind: AlertKind
    window: str  # title
    used: float | None = None
    until: str | None  # the reset, or the time of the next probe; null: not reported
    code: Code | None = None  # why it is closed
    is_rejected: bool = False  # the provider rejected a call in this window


class LimitsView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.limits/1"
    accounts: tuple[AccountView, ...] = ()
    stop_at: float | None = None  # used share from which no further task starts; null outside a project
    alerts: tuple[Alert, ...] = ()  # accounts that are nearly used or closed


def view_limits(
    limits: Sequence[Limit],
    windows: Sequence[WindowUse],
    now: float,
    *,
    models: Sequence[ModelConfig] = (),
    stop_at: float | None = None,
) -> LimitsView:
    """Return the accounts of these models, then all others that are recorded."""
    accounts = {account.id: account for account in _list_accounts(models, windows, limits)}
    for use in sorted(windows, key=_sort_key):
        account = accounts[account_id(use.window)]
        shown = (*account.windows, view_window(use, stop_at))
        accounts[account.id] = replace(account, label=use.label or account.label, windows=shown)
    for limit in sorted(limits, key=lambda one: one.until):
        account = accounts[account_id(limit.window)]
        accounts[account.id] = replace(account, closed=(*account.closed, _view_closed(limit, now)))
    shown = _name_accounts(accounts.values())
    alerts = tuple(alert for account in shown if (alert := _find_alert(account)) is not None)
    return LimitsView(accounts=shown, stop_at=stop_at, alerts=alerts)


def _list_accounts(
    models: Sequence[ModelConfig], windows: Iterable[WindowUse], limits: Iterable[Limit]
) -> list[AccountView]:
    accounts: dict[str, AccountView] = {}
    for model in models:
        window = window_for(model)
        found = accounts.get(account_id(window)) or _new_account(window, model.login.label)
        accounts[found.id] = replace(found, models=(*found.models, model.name))
    others = (*(use.window for use in windows), *(limit.window for limit in limits))
    for window in sorted(others, key=lambda one: (account_label(one), account_id(one))):
        accounts.setdefault(account_id(window), _new_account(window))
    return list(accounts.values())


def _new_account(window: Window, label: str = "") -> AccountView:
    return AccountView(id=account_id(window), label=window.account or label or account_label(window))


def _name_accounts(accounts: Collection[AccountView]) -> tuple[AccountView, ...]:
    short = {account.id: account.label.partition(" (")[0] for account in accounts}
    counts = Counter(short.values())
    return tuple(
        replace(one, name=short[one.id] if counts[short[one.id]] == 1 else one.label) for one in accounts
    )


def _sort_key(use: WindowUse) -> tuple[bool, float, str]:
    """Sort short windows first, and overage last."""
    reported = use.reported
    return reported.name == OVERAGE, reported.length or math.inf, reported.name


def view_window(use: WindowUse, stop_at: float | None) -> WindowView:
    reported = use.reported
    return WindowView(
        name=reported.name,
        title=window_title(reported.name),
        family=reported.family,
        used=reported.used,
        resets_at=None if reported.resets_at is None else format_rfc3339(reported.resets_at),
        status=reported.status,
        level=_find_level(use, stop_at),
        source=reported.source,
        source_title=_SOURCES[reported.source],
        reported_at=format_rfc3339(use.noted_at),
        length_seconds=reported.seconds,
    )


def _find_level(use: WindowUse, stop_at: float | None) -> Level:
    used, status = use.reported.used, use.reported.status
    if status == "rejected":
        return "rejected"
    if not use.reported.counts_for_policy:
        return "ok"
    # 1 - 0.05 is slightly more than 0.95.
    if stop_at is not None and used is not None and used >= stop_at - 1e-9:
        return "stopped"
    return "near" if status == "warning" or (used or 0.0) >= NEAR else "ok"


def _view_closed(limit: Limit, now: float) -> ClosedView:
    window = limit.window
    return ClosedView(
        name=window.window,
        title=window_title(window.window),
        model=None if window.model in ("*", "") else window.model,
        until=format_rfc3339(limit.until),
        is_due=limit.until <= now,
        is_probed=limit.probing_until is not None and limit.probing_until > now,
        is_limit=is_provider_limit(limit.code),
        code=limit.code,
        message=limit.message,
    )


def _find_alert(account: AccountView) -> Alert | None:
    """Return why an account needs attention: a closed window before one that is nearly used."""
    closed = [one for one in account.closed if not one.is_due]
    if closed:
        # A window of all models before one of a single model; then the one that ends last.
        last = max(closed, key=lambda one: (one.model is None, one.until))
        kind: AlertKind = "limited" if last.is_limit else "not_called"
        return Alert(
            account=account.name, kind=kind, window=name_closed(last), until=last.until, code=last.code
        )
    near = [one for one in account.windows if one.level != "ok" and one.name != OVERAGE]
    fullest = max(near, key=lambda one: one.used or 0.0, default=None)
    if fullest is None:
        return None
    return Alert(
        account=account.name,
        kind="near",
        window=fullest.title,
        used=fullest.used,
        until=fullest.resets_at,
        is_rejected=fullest.status == "rejected",
    )


def summarize(alerts: Iterable[Alert], now: float) -> str:
    """Return alerts in one line: claude: five-hour 93 %, resets 00:47; codex limited until 09:00 (weekly)."""
    return "; ".join(_describe_alert(alert, now) for alert in alerts)


def _describe_alert(alert: Alert, now: float) -> str:
    at = "" if alert.until is None else format_local_time(read_time(alert.until), now)
    match alert.kind:
        case "limited":
            return f"{alert.account} limited until {at} ({alert.window})"
        case "not_called":
            return f"{alert.account} not called until {at} ({alert.code})"
        case "near":
            used = f"{alert.account}: {alert.window} {_describe_use(alert)}"
            return f"{used}, resets {at}" if at else used


def _describe_use(alert: Alert) -> str:
    return format_share(alert.used) or ("rejected" if alert.is_rejected else "nearly used")


def name_closed(closed: ClosedView) -> str:
    """Return the title of a closed window, with its model if the title does not contain it."""
    is_named = closed.model is None or closed.model in closed.title
    return closed.title if is_named else f"{closed.title}, {closed.model}"


def find_window(model: ModelConfig, accounts: Mapping[str, AccountView]) -> WindowView | None:
    """Return the fullest window that counts the calls of a model; None: nothing is reported."""
    account = accounts.get(account_id(window_for(model)))
    if account is None:
        return None
    counted = tuple(one for one in account.windows if not one.family or is_in_family(model.model, one.family))
    return replace(account, windows=counted).fullest
