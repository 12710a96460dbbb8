"""The paths of model calls: only plain forms, so that the server reads the same path as the check."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

_PATH = re.compile(r"(/([A-Za-z0-9._~!$&'()*+,=:@-]|%3[Aa]|%40)+)+\Z")
_QUERY = re.compile(r"([A-Za-z0-9._~!$&'()*+,=:@/?-]|%[0-9A-Fa-f]{2})*\Z")
_CREDENTIALS = frozenset({"key", "api_key", "api-key", "apikey", "access_token", "token"})


def is_plain_path(path: str) -> bool:
    """Whether a path has one reading: no empty segments, no dots as segments, no encoded separators."""
    return bool(_PATH.match(path)) and not any(part in (".", "..") for part in path.split("/"))


def is_plain_query(query: str) -> bool:
    return bool(_QUERY.match(query))


def matches_path(path: str, patterns: Iterable[str]) -> bool:
    """Whether a plain path is that of a model call; "*" is any text without a slash."""
    decoded = unquote(path)
    return any(re.fullmatch(_compile(pattern), decoded) for pattern in patterns)


def remove_credentials(query: str) -> str:
    """Return the query without the parameters that carry a key."""
    return "&".join(part for part in query.split("&") if _name_of(part) not in _CREDENTIALS)


def _name_of(part: str) -> str:
    return unquote(part.partition("=")[0]).strip().lower()


def _compile(pattern: str) -> str:
    return "[^/]*".join(map(re.escape, pattern.split("*")))
