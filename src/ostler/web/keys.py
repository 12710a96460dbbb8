"""What a request proves its sender with: the token of scripts, a browser's session, or a one-time key."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from threading import Lock

from msgspec import Struct

from ostler.secrets.registry import SECRETS
from ostler.web.browser_sessions import BrowserSession, BrowserSessions

KEY_SECONDS = 3600.0
_TOKEN_BYTES = 32


class Caller(Struct, frozen=True):
    """Who sent a request."""

    session: BrowserSession | None = None  # None: a script with the token


class Keys:
    """The token of the server, the sessions of browsers, and one-time keys that create one; thread-safe."""

    def __init__(self, sessions: BrowserSessions, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        SECRETS.register([("server-token", self.token)])
        self.sessions = sessions
        self._monotonic = monotonic
        self._lock = Lock()
        self._unused: dict[str, float] = {}  # key -> time of expiry

    def create_key(self) -> str:
        """Return a new key that can be used once."""
        key = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._unused[key] = self._monotonic() + KEY_SECONDS
        return key

    def redeem(self, key_text: str) -> bool:
        """Use a key; return False when it is unknown, expired or already used."""
        now = self._monotonic()
        with self._lock:
            self._unused = {key: end for key, end in self._unused.items() if end > now}
            found = [key for key in self._unused if equal_in_constant_time(key, key_text)]
            for key in found:
                del self._unused[key]
        return bool(found)

    def find_caller(self, cookies: str, authorization: str) -> Caller | None:
        """Return who sends these headers; None if they prove nothing."""
        if self._has_token(authorization):
            return Caller()
        sessions = (self.sessions.find(token) for token in _values(cookies, self.sessions.cookie))
        found = next((one for one in sessions if one is not None), None)
        return None if found is None else Caller(found)

    def _has_token(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        return kind.lower() == "bearer" and equal_in_constant_time(self.token, token.strip())


def equal_in_constant_time(one: str, other: str) -> bool:
    """Compare in constant time, so that the duration reveals nothing about the secret."""
    return secrets.compare_digest(one.encode(), other.encode("utf-8", "surrogateescape"))


def _values(cookies: str, name: str) -> list[str]:
    pairs = (part.strip().partition("=") for part in cookies.split(";"))
    return [value for key, _, value in pairs if key == name]
