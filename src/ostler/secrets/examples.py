"""Texts that have the form of a secret and are none: examples, default passwords of local services, paths."""

from __future__ import annotations

import base64
import re

from ostler.lazy import lazy_pattern

_LOCAL = lazy_pattern(rb"(?i)(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0|host\.docker\.internal)\b")
_DEFAULTS = frozenset(
    b"admin changeme default example foobared guest minio minioadmin mysql pass postgres redis root".split()
    + b"secret test user".split()
)
_DIGEST = b"sha256:"  # docker://HOST:PORT@sha256:HASH
_PATH = lazy_pattern(rb"[^/]*/[^.]*\.[A-Za-z]{1,5}|[^A-Z/]*/[^A-Z]*")


def is_example(kind: str, match: re.Match[bytes]) -> bool:
    """Return whether a match of this kind is an ordinary text."""
    match kind:
        case "url-password":
            return _is_default_password(match["user"], match["secret"], match.string[match.end() :][:64])
        case "authorization" if match[0].startswith(b"Basic "):
            return not _is_login(match["secret"])
        case "authorization":
            return _PATH.fullmatch(match["secret"]) is not None
        case _:
            return False


def _is_default_password(user: bytes, password: bytes, host: bytes) -> bool:
    if password.lower() == user.lower() or (password.isdigit() and host.startswith(_DIGEST)):
        return True
    return password.lower() in _DEFAULTS and _LOCAL.match(host) is not None


def _is_login(text: bytes) -> bool:
    """Return whether a text is a name and a password in base64."""
    if not re.fullmatch(rb"[A-Za-z0-9+/]++={0,2}", text):
        return False
    digits = text.rstrip(b"=")
    plain = base64.b64decode(digits[: len(digits) // 4 * 4]).decode("utf-8", "replace").rstrip("\ufffd")
    return ":" in plain and plain.isprintable() and "\ufffd" not in plain
