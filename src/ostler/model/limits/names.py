"""Names of windows: one name for each length and group of models, whatever a provider calls it."""

from __future__ import annotations

from ostler.lazy import lazy_pattern
from ostler.model.limits.numbers import read_length

FIVE_HOUR, SEVEN_DAY, OVERAGE, DAY, QUOTA = "five_hour", "seven_day", "overage", "day", "quota"
FAMILIES = ("opus", "sonnet", "haiku")
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_TOLERANCE = 0.02  # some providers report the length less what has passed of it: 299 minutes
_SECONDS = {FIVE_HOUR: 5 * _HOUR, SEVEN_DAY: 7 * _DAY, DAY: _DAY, "minute": _MINUTE}
NAMED_LENGTH = lazy_pattern(r"(\d{1,6})([mhd])")
_SAFE_NAME = lazy_pattern(r"[A-Za-z0-9_-]{1,40}")
_UNITS = {"m": _MINUTE, "h": _HOUR, "d": _DAY}


def read_name(text: str) -> str:
    """Return the name that a provider reports for a window; `quota` if it cannot be shown."""
    return text if _SAFE_NAME.fullmatch(text) else QUOTA


def name_length(seconds: float) -> str:
    """Return the name of a window of this length: five_hour, seven_day, 24h, 30d."""
    for name in (FIVE_HOUR, SEVEN_DAY):
        if abs(seconds - _SECONDS[name]) <= _TOLERANCE * _SECONDS[name]:
            return name
    days, hours, minutes = (round(seconds / unit) for unit in (_DAY, _HOUR, _MINUTE))
    if days > 1 and abs(seconds - days * _DAY) <= _TOLERANCE * seconds:
        return f"{days}d"
    return f"{hours}h" if hours and abs(seconds - hours * _HOUR) <= _TOLERANCE * seconds else f"{minutes}m"


def is_counted(name: str) -> bool:
    """Return whether a window counts requests or tokens of a key: a short one, such as a minute."""
    return name.rpartition("_")[2] in ("requests", "tokens")


def find_length(name: str) -> float | None:
    """Return the seconds of a window with one of these names, or None."""
    if name.startswith(SEVEN_DAY):
        return _SECONDS[SEVEN_DAY]
    if named := NAMED_LENGTH.fullmatch(name):
        return read_length(int(named[1]) * _UNITS[named[2]])
    return _SECONDS.get(name)


def find_family(name: str) -> str:
    """Return the group of models that a window counts, such as opus; empty: all models of the account."""
    last = name.rpartition("_")[2]
    return last if last in FAMILIES else ""
