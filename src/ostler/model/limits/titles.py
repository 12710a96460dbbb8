"""Windows and accounts as a person reads them."""

from __future__ import annotations

from ostler.model.limits.limit import login_key, provider_name
from ostler.model.limits.names import NAMED_LENGTH
from ostler.model.limits.window import ANY, Window
from ostler.model.policy.model_config import LOGIN_MARK, ModelConfig

_TITLES = {
    ANY: "all windows",
    "five_hour": "five-hour",
    "seven_day": "weekly",
    "day": "daily",
    "minute": "per minute",
}
_WEEKLY_OF_FAMILY = "seven_day_"
_UNITS = {"m": "min", "h": "h", "d": "d"}


def window_title(name: str) -> str:
    """Return the name of a window on screens: five-hour, weekly, weekly opus, 24 h."""
    if name.startswith(_WEEKLY_OF_FAMILY):
        return f"weekly {name.removeprefix(_WEEKLY_OF_FAMILY).replace('_', ' ')}"
    if length := NAMED_LENGTH.fullmatch(name):
        return f"{length[1]} {_UNITS[length[2]]}"
    return _TITLES.get(name, name.replace("_", " ").replace("-", " "))


def format_share(share: float | None) -> str:
    """Return a share in percent, rounded down: 100 % is shown when nothing is left."""
    return "" if share is None else f"{int(share * 100 + 1e-6)} %"


def account_id(window: Window) -> str:
    """Return the account of a window: its name in the settings, or the key of its login with an @."""
    login = login_key(window)
    return window.account or (login if LOGIN_MARK in login else f"{login}{LOGIN_MARK}")


def account_label(window: Window) -> str:
    """Return the account of a window as far as the window names it."""
    return window.account or provider_name(window)


def label_of(model: ModelConfig) -> str:
    """Return the name of a model's account on screens."""
    return model.account or model.login.label or model.executor
