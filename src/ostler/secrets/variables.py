"""The variables of an environment that hold a secret: by their name, unless the value is an ordinary one."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ostler.lazy import lazy_pattern

_NAME = lazy_pattern(
    r"(?i)(?:PASSWORD|PASSWD|TOKEN)S?(?:_|\d*$)"  # also PGPASSWORD
    r"|(?:^|_)(?:API_?KEY|SECRETS?|PASSPHRASE|CREDENTIALS?|ACCESS_KEY|AUTH|PAT|HEADERS)(?:_|\d*$)"
    r"|_KEY$|^KEY_|.PWD$"
)
_DIRECTORIES = frozenset(("PWD", "OLDPWD"))
# The name of the value itself, not of a property such as TOKEN_TYPE.
_LAST_WORD = lazy_pattern(r"(?i)(?:PASSWORD|PASSWD|PWD|PASSPHRASE|SECRET|TOKEN|KEY)\d*$")
_WORD = lazy_pattern(r"[A-Z]?[a-z]{0,15}|[A-Z]{1,15}")
_WORDS_OR_NUMBER = lazy_pattern(r"(?i)[a-z]+(?:[ _-][a-z]+)+|[0-9.,:-]+")
_HOST = lazy_pattern(r"(?:[a-z][a-z0-9-]{0,30}\.)+[a-z]{2,10}(?::\d{1,5})?|[a-z][a-z-]{0,30}:\d{1,5}")
_PATH = lazy_pattern(r"(?:~|\.{0,2})(?:/(?:[a-z]{0,15}(?:[._-][a-z]{1,15})*|[0-9]+)){2,}/?")
_ADDRESS = lazy_pattern(r"(?i)[a-z][a-z0-9+.-]*://[^\s@/?#]*([^\s@]*)")
# A key in the path or the query of an address, such as that of a web hook; not v2 or oauth2.
_KEY_IN_ADDRESS = lazy_pattern(r"(?=[\w.~%-]*\d)(?=[\w.~%-]*[A-Za-z])[\w.~%-]{8,}")


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name holds a secret."""
    return name not in _DIRECTORIES and _NAME.search(name) is not None


def is_path(value: str) -> bool:
    """Return whether a value is a path: one that exists, or one of short lower-case words."""
    text = value.strip()
    return "/" in text and (os.path.lexists(os.path.expanduser(text)) or _PATH.fullmatch(text) is not None)  # noqa: PTH111


def list_secret_variables(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the variables whose name and value are those of a secret."""
    return [
        (name, value)
        for name, value in environ.items()
        if is_secret_name(name) and not is_ordinary(name, value.strip())
    ]


def is_ordinary(name: str, value: str) -> bool:
    """Return whether a value would be found in text that has nothing to do with the variable."""
    if _WORD.fullmatch(value) or is_path(value):
        return True
    if _WORDS_OR_NUMBER.fullmatch(value) or _HOST.fullmatch(value):
        return _LAST_WORD.search(name) is None
    address = _ADDRESS.fullmatch(value)
    return address is not None and _KEY_IN_ADDRESS.search(address[1]) is None
