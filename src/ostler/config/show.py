"""List every setting with its value and source, for `ostler config show`."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from msgspec import to_builtins

from ostler.config.literal import to_toml
from ostler.config.load import Loaded
from ostler.config.secrets.hidden import HIDDEN, hide_passwords
from ostler.config.source import KeyPath, format_key, list_values

UNSET = "(unset)"
# Addresses of servers, of which only the password is hidden.
_ADDRESSES: tuple[KeyPath, ...] = (("store", "url"), ("blobs", "url"), ("blobs", "endpoint"))
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


class Row(NamedTuple):
    key: str
    value: str  # a TOML literal, or UNSET
    source: str  # ostler.toml:12, OSTLER_RUN__JOBS, --jobs, default


def rows(loaded: Loaded) -> list[Row]:
    """Return one row per value, in the order of the settings."""
    return [Row(key, _text(value), loaded.sources[key].location) for key, value in _values(loaded)]


def as_json(loaded: Loaded) -> dict[str, Any]:
    """Return all values as one JSON document."""
    return {
        "schema": "ostler.config/1",
        "settings": [
            {
                "key": key,
                "value": to_builtins(value),
                "layer": loaded.sources[key].layer,
                "source": loaded.sources[key].location,
            }
            for key, value in _values(loaded)
        ],
    }


def shown_values(loaded: Loaded) -> list[tuple[KeyPath, Any]]:
    """Return the path and the value of every setting; a secret is hidden."""
    return [(path, _hide_secret(path, value)) for path, value in list_values(loaded.settings)]


def _text(value: object) -> str:
    return UNSET if value is None else to_toml(value)


def _values(loaded: Loaded) -> list[tuple[str, Any]]:
    return [(format_key(path), value) for path, value in shown_values(loaded)]


def _hide_secret(path: KeyPath, value: Any) -> Any:
    if path in _ADDRESSES:
        return hide_passwords(value)
    return HIDDEN if _is_secret(path) else value


def _is_secret(path: KeyPath) -> bool:
    """Return whether a value must be hidden: an environment variable with a secret-like name."""
    return "env" in path[:-1] and _SECRET.search(str(path[-1])) is not None
