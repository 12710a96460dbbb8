"""Browsers that are logged in, in a private file: a restart of the server keeps them logged in.

The file has the hash of each token, so that who reads it cannot log in with it.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.files.atomic import make_private_dir, write_atomic
from ostler.files.lock import wait_for_lock

FILE_NAME = "browser-sessions.json"
LIFETIME_SECONDS = 30 * 86400.0
_TOKEN_BYTES = 32
_MOST = 100  # sessions that are kept; the oldest end first
_USE_SECONDS = 600.0  # how often the time of the last use is written
_LOCK_SECONDS = 5.0
# The first mark that is found counts: Edge and Opera name Chrome too, and Chrome names Safari.
_BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iOS",
    "iPad": "iOS",
    "Mac OS X": "macOS",
    "Windows": "Windows",
    "Linux": "Linux",
}
_Stamp = tuple[int, int, int] | None


class BrowserSession(Struct, frozen=True):
    """One browser that is logged in."""

    id: str  # to list and revoke it; does not reveal the token
    token_hash: str
    browser: str  # such as Firefox on Linux
    created_at: float
    used_at: float  # within ten minutes

    @property
    def expires_at(self) -> float:
        return self.created_at + LIFETIME_SECONDS


class _File(Struct, frozen=True):
    sessions: tuple[BrowserSession, ...] = ()
    version: int = 1


class BrowserSessions:
    """The sessions of one server; thread-safe, and several processes can change the file."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._lock = Lock()
        self._stamp: _Stamp = None
        self._read: tuple[BrowserSession, ...] = ()

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers send the cookies of all ports of a host to each of them."""
        return f"ostler-{hashlib.sha256(str(self._path).encode()).hexdigest()[:12]}"

    def list(self) -> tuple[BrowserSession, ...]:
        """Return the sessions that have not expired, oldest first."""
        now = self._now()
        # The second condition: a clock that was set back does not extend a session.
        return tuple(one for one in self._load() if one.created_at <= now + 86400 and now < one.expires_at)

    def create(self, user_agent: str) -> str:
        """Return the token of a new session."""
        token, now = secrets.token_urlsafe(_TOKEN_BYTES), self._now()
        made = BrowserSession(secrets.token_hex(4), _hash(token), describe_browser(user_agent), now, now)
        with self._writing():
            self._write((*self.list(), made)[-_MOST:])
        return token

    def find(self, token: str) -> BrowserSession | None:
        """Return the session of a token; None if it is unknown, revoked or expired."""
        wanted = _hash(token)
        found = [one for one in self.list() if secrets.compare_digest(one.token_hash, wanted)]
        return found[0] if found else None

    def is_use_due(self, session: BrowserSession) -> bool:
        """Return whether the last use is worth writing."""
        return self._now() - session.used_at >= _USE_SECONDS

    def record_use(self, session: str) -> None:
        with self._writing():
            used = (replace(one, used_at=self._now()) if one.id == session else one for one in self.list())
            self._write(tuple(used))

    def revoke(self, session: str) -> tuple[BrowserSession, ...]:
        """End a session by its id, or all of them with "all"; return those that ended."""
        with self._writing():
            before = self.list()
            ended = tuple(one for one in before if session in (one.id, "all"))
            if ended:
                self._write(tuple(one for one in before if one not in ended))
        return ended

    def _load(self) -> tuple[BrowserSession, ...]:
        with self._lock:
            stamp = _read_stamp(self._path)
            if stamp is None or stamp != self._stamp:
                self._read, self._stamp = _read_file(self._path), stamp
            return self._read

    def _write(self, sessions: tuple[BrowserSession, ...]) -> None:
        write_atomic(self._path, msgspec.json.format(msgspec.json.encode(_File(sessions))) + b"\n")

    @contextmanager
    def _writing(self) -> Generator[None]:
        """Hold the lock of the file, so that no change of another process is lost."""
        make_private_dir(self._path.parent)
        with wait_for_lock(self._path.with_suffix(".lock"), _LOCK_SECONDS):
            yield


def describe_browser(user_agent: str) -> str:
    """Return the browser and its system, such as Firefox on Linux."""
    name = next((title for mark, title in _BROWSERS.items() if f"{mark}/" in user_agent), "")
    system = next((title for mark, title in _SYSTEMS.items() if mark in user_agent), "")
    if name:
        return f"{name} on {system}" if system else name
    return "".join(one for one in user_agent[:40] if " " <= one <= "~") or "unknown browser"


def _hash(token: str) -> str:
    # A token has 256 random bits: a slow hash would protect nothing.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _read_stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read_file(path: Path) -> tuple[BrowserSession, ...]:
    """Return the sessions; none if the file is missing or damaged: the browsers log in again."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File).sessions
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ()
