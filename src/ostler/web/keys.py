"""Who may talk to the server: one secret for its lifetime, and addresses that hand it over once."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from threading import Lock

_TOKEN_BYTES = 32
KEY_SECONDS = 3600.0


class Keys:
    """Used by any thread."""

    def __init__(self, port: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.cookie = f"ostler-{port}"  # a browser keeps those of all ports of a host together
        self._monotonic = monotonic
        self._lock = Lock()
        self._unused: dict[str, float] = {}  # key -> when it ends

    def make(self) -> str:
        """A key that opens once."""
        key = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._unused[key] = self._monotonic() + KEY_SECONDS
        return key

    def redeem(self, given: str) -> bool:
        """Use a key up; False for one that was used, is too old, or never was."""
        now = self._monotonic()
        with self._lock:
            self._unused = {key: end for key, end in self._unused.items() if end > now}
            found = [key for key in self._unused if same(key, given)]
            for key in found:
                del self._unused[key]
        return bool(found)

    def opens(self, cookies: str, authorization: str) -> bool:
        """Whether a request with these two headers has the secret."""
        return self.bears(authorization) or any(
            same(self.token, one) for one in _values(cookies, self.cookie)
        )

    def bears(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        return kind.lower() == "bearer" and same(self.token, token.strip())


def same(one: str, other: str) -> bool:
    """In a time that says nothing about where they differ."""
    return secrets.compare_digest(one.encode(), other.encode("utf-8", "surrogateescape"))


def _values(cookies: str, name: str) -> list[str]:
    pairs = (part.strip().partition("=") for part in cookies.split(";"))
    return [value for key, _, value in pairs if key == name]
