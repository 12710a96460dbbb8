"""Only the user gets anything from the server, or through to it (S1-S4, G13)."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal_file import journal_path
from ostler.web.application import BASE, ROUTES
from ostler.web.browser_sessions import FILE_NAME
from ostler.web.pages import PAGES
from web_world import JSON, Client, Served, note_of, printed_address, serve, shared_world
from world import World, wait_until

ADDRESSES = [
    *((route.method, re.sub(r"\{[^}]*\}", "1", BASE + route.path)) for route in ROUTES),
    ("GET", f"{BASE}/openapi.json"),
    ("GET", f"{BASE}/nothing"),
    *(("GET", re.sub(r"\{[^}]*\}", "1", page)) for page in PAGES),
    ("GET", "/static/js/api.js"),
    ("GET", "/static/js/missing.js"),
    ("GET", "/nothing"),
    ("OPTIONS", f"{BASE}/tasks"),
    ("DELETE", f"{BASE}/tasks"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One project for all of them."""
    with shared_world(tmp_path_factory.mktemp("web")) as made:
        yield made


@pytest.fixture(scope="module")
def server(place: World) -> Served:
    """One server for all of them: no test changes anything."""
    return serve(place, "--view-only")


@pytest.mark.parametrize(("method", "path"), ADDRESSES)
def test_nothing_is_there_without_the_key(server: Served, method: str, path: str) -> None:
    """Every route, page and file answers 401, with the same headers."""
    stranger = Client(server.port)
    for headers in ({}, {"Authorization": "Bearer x"}, {"Cookie": f"{log_in(server)[0]}=x"}):
        answer = stranger.ask(method, path, b"{}" if method == "POST" else None, **JSON, **headers)
        assert answer.status == 401
        assert b"ostler serve" in answer.body
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("host", ["evil.test", "evil.test:{port}", "127.0.0.1", "localhost.evil.test:{port}"])
def test_a_foreign_name_is_refused(server: Served, host: str) -> None:
    """A page of another host name bound to this machine gets no answer, with or without the key."""
    assert server.ask("GET", f"{BASE}/session", Host=host.format(port=server.port)).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_our_own_names_are_answered(server: Served, host: str) -> None:
    """For every spelling of this machine."""
    assert server.ask("GET", f"{BASE}/session", Host=host.format(port=server.port)).status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_form_of_another_page_changes_nothing(server: Served, kind: str) -> None:
    """A request that a browser sends without a preflight is not JSON."""
    answer = server.ask("POST", f"{BASE}/tasks", b'{"title": "x"}', Content_Type=kind)
    assert answer.status == 415
    assert server.get("/tasks")["total"] == 0


@pytest.mark.parametrize(
    "origin", ["http://evil.test", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_another_site_changes_nothing(server: Served, origin: str) -> None:
    """Even with the key, as a cookie would be sent from another port of this machine."""
    answer = server.ask(
        "POST", f"{BASE}/tasks", b'{"title": "x"}', **JSON, Origin=origin.format(port=server.port)
    )
    assert answer.status == 403
    assert server.get("/tasks")["total"] == 0


def test_a_cookie_alone_needs_an_origin(server: Served) -> None:
    """A change without one is only accepted from a program with the key."""
    browser, cookie = Client(server.port), "=".join(log_in(server))
    own = f"http://127.0.0.1:{server.port}"
    assert browser.ask("GET", f"{BASE}/session", Cookie=cookie).status == 200
    assert browser.ask("POST", f"{BASE}/keys", b"{}", **JSON, Cookie=cookie).status == 403
    assert browser.ask("POST", f"{BASE}/keys", b"{}", **JSON, Cookie=cookie, Origin=own).status == 200


def test_a_large_request_is_refused(server: Served) -> None:
    """By its declared length, and by its actual length without a declared one."""
    large = b'{"title": "' + b"x" * 2**20 + b'"}'
    assert server.ask("POST", f"{BASE}/tasks", large, **JSON).status == 413
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain:
        head = f"POST {BASE}/tasks HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        kind = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        plain.sendall(f"{head}Authorization: Bearer {server.token}\r\n{kind}".encode())
        plain.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(large), large))
        assert plain.recv(100).startswith(b"HTTP/1.1 413")


def test_the_printed_address_opens_once(place: World, server: Served) -> None:
    """It sets a cookie that scripts cannot read, and is used up."""
    address, stranger = printed_address(place), Client(server.port)
    first = stranger.ask("GET", address)
    assert (first.status, first.headers["Location"]) == (303, "/")
    cookie = first.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
    assert stranger.ask("GET", "/", Cookie=cookie.partition(";")[0]).status == 200
    again = stranger.ask("GET", address)
    assert again.status == 401 and "Set-Cookie" not in again.headers
    assert stranger.ask("GET", address, Cookie=cookie.partition(";")[0]).status == 303
    assert stranger.ask("GET", "/open?key=").status == 401


def test_the_key_is_long_and_for_our_eyes(place: World, server: Served) -> None:
    """256 bits, in a file that only the user can read."""
    assert len(server.token) >= 43
    assert note_of(place).stat().st_mode & 0o777 == 0o600


def log_in(server: Client, **headers: str) -> tuple[str, str]:
    """Return the name and the value of the cookie of a new browser."""
    address = server.post("/keys")["url"].partition(f":{server.port}")[2]
    answer = Client(server.port).ask("GET", address, **headers)
    name, _, value = answer.headers["Set-Cookie"].partition(";")[0].partition("=")
    return name, value


def status(server: Client, cookie: tuple[str, str], path: str = "/session") -> int:
    return Client(server.port).ask("GET", f"{BASE}{path}", Cookie="=".join(cookie)).status


def change(server: Client, cookie: tuple[str, str], path: str) -> int:
    """Send a change as the page of the dashboard does."""
    origin = f"http://127.0.0.1:{server.port}"
    return (
        Client(server.port)
        .ask("POST", f"{BASE}{path}", b"{}", **JSON, Cookie="=".join(cookie), Origin=origin)
        .status
    )


def test_a_login_never_takes_over_a_token_that_it_is_given(server: Served) -> None:
    """Neither an unknown one (fixation) nor a valid one, which ends: each login has a new token."""
    name, _ = log_in(server)
    planted = log_in(server, Cookie=f"{name}=planted")
    assert planted[1] != "planted" and status(server, (name, "planted")) == 401
    again = log_in(server, Cookie="=".join(planted))
    assert again != planted and status(server, again) == 200
    assert status(server, planted) == 401


def test_the_two_kinds_of_token_are_not_exchangeable(server: Served) -> None:
    """The token of scripts is no session, and a session is no token of scripts."""
    name, value = log_in(server)
    assert status(server, (name, server.token)) == 401
    assert Client(server.port, value).ask("GET", f"{BASE}/session").status == 401


@pytest.mark.full
def test_a_browser_that_logs_out_is_out_for_ever(server: Served) -> None:
    """The token of before is refused when it is sent again, and its stream ends; other browsers stay."""
    cookie, other = log_in(server), log_in(server)
    with Client(server.port).stream("/stream", Cookie="=".join(cookie)) as stream:
        assert stream.head()[0].startswith(b"HTTP/1.1 200")
        assert change(server, cookie, "/session/logout") == 200
        assert stream.rest().endswith(b"0\r\n\r\n")
    assert [status(server, cookie, path) for path in ("/session", "/stream")] == [401, 401]
    assert change(server, cookie, "/session/logout") == 401
    assert status(server, other) == 200
    assert server.ask("POST", f"{BASE}/session/logout", b"{}", **JSON).status == 409


def test_sessions_are_listed_and_revoked(place: World, server: Served) -> None:
    """By the API and by the command; a list has no token and no hash of one."""
    cookie, other = log_in(server), log_in(server, User_Agent="Firefox/140 (Linux)")
    listed = Client(server.port).ask("GET", f"{BASE}/sessions", Cookie="=".join(cookie))
    [own] = [one for one in listed.json["sessions"] if one["current"]]
    newest = listed.json["sessions"][-1]
    assert newest["browser"] == "Firefox on Linux" and own["id"] != newest["id"]
    printed = place.ostler("serve", "--sessions").stdout
    assert newest["id"] in printed and "Firefox on Linux" in printed
    assert cookie[1] not in printed + listed.body.decode() and "hash" not in listed.body.decode()
    server.post(f"/sessions/{own['id']}/revoke")
    assert (status(server, cookie), status(server, other)) == (401, 200)
    server.post(f"/sessions/{own['id']}/revoke", status=404)
    assert "Logged out: 1 browser." in place.ostler("serve", "--revoke", newest["id"]).stdout
    assert status(server, other) == 401
    place.ostler("serve", "--revoke", "all")
    assert "No browser is logged in" in place.ostler("serve", "--sessions").stdout


def test_a_restart_keeps_browsers_logged_in(tmp_path: Path) -> None:
    """With umask 000 the file is private; another project refuses the token, and settings are live."""
    world = World(tmp_path)
    try:
        world.ostler("init")
        before = os.umask(0)
        first = serve(world, "--view-only")
        os.umask(before)
        cookie = log_in(first)
        sessions = journal_path(world.root).with_name(FILE_NAME)
        assert sessions.stat().st_mode & 0o777 == 0o600
        assert note_of(world).stat().st_mode & 0o777 == 0o600
        assert first.stop() == 130
        second = serve(world, "--view-only")
        assert status(second, cookie) == 200 and second.token != first.token
        jobs = second.get("/session")["jobs"]
        world.ostler("config", "set", "run.jobs", str(jobs + 3))
        assert second.get("/session")["jobs"] == jobs + 3
        assert second.get("/session")["activity"] == {
            "is_active": False,
            "runs": 0,
            "command": "ostler run --all",
        }
    finally:
        world.close()


def test_a_token_of_another_project_is_refused(place: World, server: Served, tmp_path: Path) -> None:
    """Under the name of its own cookie, and under that of the other project."""
    world = World(tmp_path)
    try:
        world.ostler("init")
        other = serve(world, "--view-only")
        (own, value), (foreign, _) = log_in(server), log_in(other)
        assert [status(other, (name, value)) for name in (own, foreign)] == [401, 401]
        assert Client(other.port, server.token).ask("GET", f"{BASE}/session").status == 401
    finally:
        world.close()


def test_a_page_without_a_session_is_styled(server: Served) -> None:
    """It names the command; its one style is allowed by its hash, and scripts in its address stay text."""
    answer = Client(server.port).ask("GET", "/tasks/%3Cscript%3E1%3C/script%3E")
    page = answer.body.decode()
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'self' 'sha256-{digest}'" in answer.headers["Content-Security-Policy"]
    assert "<h1>Not logged in</h1>" in page and "ostler serve" in page and "<script" not in page


def test_files_are_saved_and_never_shown(place: World, server: Served) -> None:
    """With any name from an agent: an octet stream, as an attachment, and none from elsewhere."""
    task = place.new("Look")
    evil = place.root / ".ostler" / "tasks" / task / '<img src=x onerror="1">.html'
    evil.write_text("<script>1</script>")
    (evil.parent / "link").symlink_to("/etc/passwd")
    listed = server.get(f"/tasks/{task}/files")["files"]
    assert evil.name in [one["path"] for one in listed] and "link" not in [one["path"] for one in listed]
    answer = server.ask("GET", f"{BASE}/tasks/{task}/files/%3Cimg%20src=x%20onerror=%221%22%3E.html")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/octet-stream")
    assert answer.headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''%3Cimg")
    for path in (
        "link",
        "../../ostler.db",
        "%2e%2e/%2e%2e/ostler.db",
        "..%2f..%2fostler.db",
        "/etc/passwd",
        ".",
    ):
        assert server.ask("GET", f"{BASE}/tasks/{task}/files/{path}").status in (400, 404), path
    for path in ("../server.py", "..%2fserver.py", "/etc/passwd", "js", "js/%2e%2e/%2e%2e/server.py"):
        assert server.ask("GET", f"/static/{path}").status == 404, path
    place.ostler("cancel", task)


def test_every_page_and_script_is_there(server: Served) -> None:
    """With the key; scripts have the type of scripts, so that nosniff allows them."""
    for page in PAGES:
        answer = server.ask("GET", re.sub(r"\{[^}]*\}", "1", page))
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    script = server.ask("GET", "/static/js/api.js")
    assert script.headers["Content-Type"].startswith("text/javascript")


def test_the_server_leaves_no_trace(tmp_path: Path) -> None:
    """After Ctrl-C the note is gone and the exit code shows the signal; a stale note is ignored."""
    world = World(tmp_path)
    try:
        world.ostler("init")
        first = serve(world, "--view-only")
        stale = note_of(world).read_bytes()
        assert first.stop() == 130
        assert not note_of(world).exists()
        note_of(world).write_bytes(stale)
        second = world.start("serve", "--port", str(first.port), "--view-only", "--json")
        wait_until(lambda: note_of(world).read_bytes() != stale, 60, "no server came up")
        assert Served(world, second).get("/session")["runs_tasks"] is False
    finally:
        world.close()


def test_a_web_socket_gets_nothing(server: Served) -> None:
    """There is none, with or without the key."""
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Key": "x" * 22 + "==",
        "Sec_WebSocket_Version": "13",
    }
    assert Client(server.port).ask("GET", f"{BASE}/stream", **upgrade).status == 401
    assert server.ask("GET", f"{BASE}/session", **upgrade).status == 200
