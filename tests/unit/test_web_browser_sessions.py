"""Sessions of browsers: hashes in a private file, for 30 days, until somebody revokes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ostler.web.browser_sessions import LIFETIME_SECONDS, BrowserSessions, describe_browser

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
CHROME = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36"


class Hands:
    """A clock that only the test moves."""

    time = 1_000_000.0

    def now(self) -> float:
        return self.time


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def sessions(tmp_path: Path, hands: Hands) -> BrowserSessions:
    return BrowserSessions(tmp_path / "state" / "sessions.json", hands.now)


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_session_is_found_by_its_token_only(sessions: BrowserSessions) -> None:
    """Not by its id, by its hash, by a part of the token or by nothing."""
    token = sessions.create(FIREFOX)
    found = sessions.find(token)
    assert found is not None and found.browser == "Firefox on Linux" and len(token) == 43
    for wrong in (found.id, found.token_hash, token[:-1], f"{token}x", "", "\udcff"):
        assert sessions.find(wrong) is None


@pytest.mark.usefixtures("no_umask")
def test_the_file_is_private_and_has_no_token(sessions: BrowserSessions, tmp_path: Path) -> None:
    """With umask 000 too; its directory is created, and the lock is private as well."""
    token = sessions.create(FIREFOX)
    files = {one.name: one.stat().st_mode & 0o777 for one in (tmp_path / "state").iterdir()}
    assert files == {"sessions.json": 0o600, "sessions.lock": 0o600}
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert token not in (tmp_path / "state" / "sessions.json").read_text()


def test_a_session_expires_after_30_days(sessions: BrowserSessions, hands: Hands) -> None:
    """Use does not extend it, and a clock that was set back far does not either."""
    token = sessions.create(FIREFOX)
    hands.time += LIFETIME_SECONDS - 1
    found = sessions.find(token)
    assert found is not None
    sessions.record_use(found.id)
    hands.time += 1
    assert sessions.find(token) is None and sessions.list() == ()
    hands.time -= 2 * LIFETIME_SECONDS
    assert sessions.find(token) is None


def test_a_revoked_session_is_gone_for_every_process(sessions: BrowserSessions, tmp_path: Path) -> None:
    """Another object with the same file revokes one by its id, then all."""
    kept, lost = sessions.create(FIREFOX), sessions.create(CHROME)
    other = BrowserSessions(tmp_path / "state" / "sessions.json", lambda: Hands.time)
    assert other.revoke("no such id") == ()
    [ended] = other.revoke(other.list()[1].id)
    assert ended.browser == "Chrome on Windows"
    assert sessions.find(lost) is None and sessions.find(kept) is not None
    assert len(other.revoke("all")) == 1
    assert sessions.find(kept) is None


def test_the_use_is_written_rarely(sessions: BrowserSessions, hands: Hands) -> None:
    """After ten minutes; a revoked session does not come back by it."""
    token = sessions.create(FIREFOX)
    first = sessions.find(token)
    assert first is not None and not sessions.is_use_due(first)
    hands.time += 601
    assert sessions.is_use_due(first)
    sessions.record_use(first.id)
    assert [one.used_at for one in sessions.list()] == [hands.time]
    sessions.revoke(first.id)
    sessions.record_use(first.id)
    assert sessions.list() == ()


def test_logins_at_the_same_moment_are_all_kept(tmp_path: Path) -> None:
    """From several threads and objects: none overwrites another one, and only the newest 100 stay."""
    path = tmp_path / "sessions.json"

    def log_in(_: int) -> str:
        return BrowserSessions(path).create(FIREFOX)

    with ThreadPoolExecutor(4) as threads:
        tokens = list(threads.map(log_in, range(20)))
    sessions = BrowserSessions(path)
    assert all(sessions.find(token) for token in tokens)
    for _ in range(90):
        sessions.create(CHROME)
    assert len(sessions.list()) == 100


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"sessions": [{"id": 1}]}', b"\xff"])
def test_a_damaged_file_logs_everybody_out(sessions: BrowserSessions, tmp_path: Path, content: bytes) -> None:
    """Nobody gets in by it, and the next login replaces it."""
    old = sessions.create(FIREFOX)
    (tmp_path / "state" / "sessions.json").write_bytes(content)
    assert sessions.find(old) is None
    assert sessions.find(sessions.create(FIREFOX)) is not None


def test_each_project_has_a_cookie_of_its_own(tmp_path: Path) -> None:
    """Its token is refused by the server of another project, under either name."""
    one, other = (BrowserSessions(tmp_path / name / "sessions.json") for name in ("one", "other"))
    assert one.cookie != other.cookie
    assert other.find(one.create(FIREFOX)) is None


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (CHROME, "Chrome on Windows"),
        (f"{CHROME} Edg/141.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU) Version/18 Safari/604", "Safari on iOS"),
        ("curl/8\x1b[31m\u202e", "curl/8[31m"),
        ("", "unknown browser"),
    ],
)
def test_a_browser_has_a_short_name(agent: str, name: str) -> None:
    """Without control characters, whatever it sends."""
    assert describe_browser(agent) == name
