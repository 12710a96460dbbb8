"""Passwords in addresses: they are found to be redacted, and hidden where a setting is shown."""

from __future__ import annotations

import re

from ostler.lazy import lazy_pattern

HIDDEN = "(hidden)"
# To the last @: a password that is not encoded may contain one.
_IN_ADDRESS = lazy_pattern(r"(?P<before>://[^\s/?#:@]*:)(?P<value>.*)(?=@)", re.DOTALL)
# Parameters of PostgreSQL, in an address and in its other notation: host=db password=x
_PARAMETER = lazy_pattern(r"(?i)(?P<before>(?:ssl)?password\s*=\s*)(?P<value>'[^']*'|[^&\s\"]+)")


def hide_passwords(text: str) -> str:
    """Return the text with a mark in place of each password in an address."""
    return _PARAMETER.sub(rf"\g<before>{HIDDEN}", _IN_ADDRESS.sub(rf"\g<before>{HIDDEN}", text))


def list_passwords(address: str) -> list[str]:
    """Return the passwords in an address, as they are written and decoded."""
    from urllib.parse import unquote  # noqa: PLC0415  (few settings have a password)

    found = [match["value"] for form in (_IN_ADDRESS, _PARAMETER) for match in form.finditer(address)]
    return [*dict.fromkeys(one for value in found for one in (value, unquote(value)))]
