"""Which requests the server accepts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message, Scope

from ostler.web.application import make_starlette
from ostler.web.browser_sessions import BrowserSessions
from ostler.web.guard import Guard
from ostler.web.keys import KEY_SECONDS, Keys
from ostler.web.pages import entrance_routes


@pytest.fixture
def sessions(tmp_path: Path) -> BrowserSessions:
    return BrowserSessions(tmp_path / "sessions.json")


def test_the_secret_has_256_bits_and_is_never_the_same(sessions: BrowserSessions) -> None:
    """43 letters of 64, random for each server."""
    made = {Keys(sessions).token for _ in range(50)}
    assert len(made) == 50
    assert {len(token) for token in made} == {43}


def test_a_key_opens_once_and_not_for_ever(sessions: BrowserSessions) -> None:
    """The first use consumes it, and it expires."""
    now = 0.0
    keys = Keys(sessions, lambda: now)
    first, second = keys.create_key(), keys.create_key()
    assert keys.redeem(first)
    assert not keys.redeem(first)
    now = KEY_SECONDS
    assert not keys.redeem(second)
    assert not keys.redeem("")


@pytest.mark.parametrize(
    ("cookies", "authorization", "caller"),
    [
        ("{cookie}={session}", "", "browser"),
        ("a=b; {cookie}={session}; c=d", "", "browser"),
        ("{cookie}=x; {cookie}={session}", "", "browser"),
        ("", "Bearer {token}", "script"),
        ("", "bearer {token}", "script"),
        ("{cookie}={token}", "", None),
        ("", "Bearer {session}", None),
        ("ostler-9={session}", "", None),
        ("{cookie}={session}x", "", None),
        ("{cookie}=", "", None),
        ("", "Basic {token}", None),
        ("", "{token}", None),
        ("", "Bearer ", None),
        ("{cookie}=\udcff\xe9", "Bearer \udcff", None),
        ("", "", None),
    ],
)
def test_who_is_let_in(
    sessions: BrowserSessions, cookies: str, authorization: str, caller: str | None
) -> None:
    """A session in the cookie of this project, or the token of scripts as a bearer token; not the reverse."""
    keys = Keys(sessions)
    values = {"{cookie}": sessions.cookie, "{session}": sessions.create(""), "{token}": keys.token}
    given = [cookies, authorization]
    for name, value in values.items():
        given = [text.replace(name, value) for text in given]
    found = keys.find_caller(*given)
    assert caller == (None if found is None else "browser" if found.session else "script")


def ask(app: ASGIApp, path: str, query: str = "", cookie: str = "") -> list[Message]:
    """Send a GET request; return what the application answers."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost:80"), (b"cookie", cookie.encode())]
    scope: Scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
    asyncio.run(app({**scope, "headers": headers}, receive, send))
    return sent


def test_a_full_disk_does_not_lock_the_browser_out(tmp_path: Path) -> None:
    """Requests are served though their use cannot be recorded; a login says why it is not possible."""
    now = 1_000_000.0
    sessions = BrowserSessions(tmp_path / "sessions.json", lambda: now)
    keys, token, now = Keys(sessions), sessions.create(""), now + 3600
    lock = tmp_path / "sessions.lock"
    lock.unlink()
    lock.mkdir()  # it cannot be opened for writing, whoever runs the test
    app = Guard(make_starlette(entrance_routes(keys, lambda _: "/")), keys, 80)
    served = ask(app, "/static/css/base.css", cookie=f"{sessions.cookie}={token}")
    assert served[0]["status"] == 200
    refused = ask(app, "/open", f"key={keys.create_key()}")
    assert refused[0]["status"] == 500 and str(lock).encode() in refused[1]["body"]
