"""S1 to S3 of the list of faults: other sites, names and users change nothing and read nothing."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from browser_world import NO_NAMES, Served, launch
from loopback import Loopback
from ostler.web.application import BASE, ROUTES
from ostler.web.pages import PAGES
from world import World

pytestmark = pytest.mark.full

TASK = '{"title": "planted"}'
# Each way in which a page can send a request; the result is the readable part of the answer.
ATTACKS = {
    "json": "fetch(to, {...post, headers: {'Content-Type': 'application/json'}})",
    "text/plain": "fetch(to, {...post, headers: {'Content-Type': 'text/plain'}})",
    "no-cors": "fetch(to, {...post, mode: 'no-cors'})",
    "beacon": "(navigator.sendBeacon(to, new Blob([body], {type: 'text/plain'})), new Response())",
    "read": "fetch(to, {credentials: 'include'})",
    "read no-cors": "fetch(to, {credentials: 'include', mode: 'no-cors'})",
}
ASK = """async ([to, body]) => {{
  const post = {{ method: "POST", body, credentials: "include" }};
  try {{ return await (await {0}).text(); }} catch (error) {{ return ""; }}
}}"""
FORM = """([to, body]) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", action: to, enctype: "text/plain" });
  const name = body.replace("}", ', "body": "');
  form.append(Object.assign(document.createElement("input"), { name, value: '"}' }));
  document.body.append(form);
  form.submit();
}"""
FRAMED = "<iframe src={0}></iframe><script src={0}/api/v1/session></script><p id=here>here</p>"


@pytest.fixture(scope="module")
def bound(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser that resolves a foreign name to this machine, as after a rebinding."""
    names = f"MAP evil.test 127.0.0.1, {NO_NAMES}"
    browser = launch(playwright, tmp_path_factory.mktemp("browser"), names)
    yield browser
    browser.close()


def titles(served: Served) -> list[str]:
    return [task["title"] for task in served.get("/tasks")["tasks"]]


def attack(page: Page, served: Served) -> dict[str, str]:
    """Everything that a script of another site can try; return what it read, by attack."""
    to = f"{served.origin}{BASE}/tasks"
    return {name: page.evaluate(ASK.format(code), [to, TASK]) for name, code in ATTACKS.items()}


def test_a_name_that_is_bound_to_this_machine_opens_nothing(served: Served, bound: Browser) -> None:
    """421 for every address of a foreign name, also with a valid key, which stays unused; no new task."""
    page = bound.new_page()
    foreign = served.origin.replace("127.0.0.1", "evil.test")
    for path in ("/", "/static/js/app.js", f"{BASE}/session", served.url.removeprefix(served.origin)):
        answer = page.goto(foreign + path)
        assert answer is not None and answer.status == 421
    printed = page.evaluate(ASK.format(ATTACKS["json"]), [f"{foreign}{BASE}/tasks", TASK])
    assert "does not accept that host name" in printed and page.context.cookies() == []
    page.close()
    assert served.page.url == f"{served.origin}/" and titles(served) == []


def test_a_page_of_another_port_gets_nothing_done(served: Served) -> None:
    """The browser sends the cookie from any port of this host: the server still does and returns nothing."""
    served.complaints.allow("")
    served.page.wait_for_selector("main h2")
    with Loopback({"/": FRAMED.format(served.origin)}) as other:
        page = served.page.context.new_page()
        page.goto(other.origin)
        page.wait_for_selector("#here")
        assert set(attack(page, served).values()) == {""}
        framed = page.frames[1].evaluate("() => document.body.innerText")
        assert "planted" not in framed and "Board" not in framed
        page.evaluate(FORM, [f"{served.origin}{BASE}/tasks", TASK])
        page.wait_for_url(f"{served.origin}{BASE}/tasks")
        assert "requests from another origin are not allowed" in page.content()
    assert titles(served) == []


def test_a_page_of_another_name_gets_nothing_done(served: Served, bound: Browser) -> None:
    """A page of a foreign name that calls the server by its own name has neither cookie nor answer."""
    with Loopback({"/": FRAMED.format(served.origin)}) as other:
        page = bound.new_page()
        page.goto(other.origin.replace("127.0.0.1", "evil.test"))
        assert set(attack(page, served).values()) == {""}
        page.close()
    assert titles(served) == []


@pytest.mark.smoke
def test_the_door_does_open_for_our_own_page(served: Served) -> None:
    """The same request from the dashboard itself is executed: the refusal was due to the origin."""
    printed = served.page.evaluate(ASK.format(ATTACKS["json"]), [f"{served.origin}{BASE}/tasks", TASK])
    assert '"ostler.task/1"' in printed and titles(served) == ["planted"]


def test_the_key_is_kept_from_scripts_and_other_sites(served: Served) -> None:
    """256 random bits in a cookie that no script reads and no other site is sent; its address opens once."""
    (cookie,) = served.page.context.cookies()
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
    assert len(cookie.get("value", "")) >= 43
    assert served.page.evaluate("() => document.cookie") == ""
    again = served.new_page().goto(served.url)
    served.complaints.allow("401")
    assert again is not None and again.status == 401


def test_logging_out_ends_the_session_of_every_tab(served: Served) -> None:
    """The page names the command for a new one; the old cookie opens nothing, in another tab either."""
    other = served.page.context.new_page()
    other.goto(served.origin)
    other.wait_for_selector("main h2")
    (cookie,) = served.page.context.cookies()
    served.complaints.allow("401")
    served.page.get_by_role("button", name="Menu").click()
    served.page.get_by_role("button", name="Log out").click()
    expect(served.page.get_by_role("heading", name="Not logged in")).to_be_visible()
    expect(served.page.get_by_text("ostler serve")).to_be_visible()
    expect(other.get_by_role("heading", name="Not authenticated")).to_be_visible(timeout=20_000)
    served.page.context.add_cookies([cookie])
    answer = served.page.goto(served.origin)
    assert answer is not None and answer.status == 401


def test_a_restart_keeps_a_tab_logged_in(world: World, serve: Callable[..., Served]) -> None:
    """The page reconnects by itself, and a reload needs no new address."""
    world.ostler("init")
    served = serve("--view-only")
    page = served.page
    live = page.get_by_text("Live", exact=True)
    expect(live).to_be_visible()
    expect(page.get_by_role("heading", name="No tasks yet")).to_be_visible()
    port = served.origin.rpartition(":")[2]
    served.complaints.allow("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET")
    served.stop()
    expect(live).to_be_hidden()
    served.start("--view-only", "--port", port)
    expect(live).to_be_visible(timeout=20_000)
    page.reload()
    expect(page.get_by_role("button", name="New task")).to_be_visible()


@pytest.mark.smoke
def test_without_the_key_every_address_is_closed(served: Served) -> None:
    """Every route of the table, every page and every file: 401, also with a nearly correct token."""
    asked = [(route.method, BASE + route.path) for route in ROUTES]
    asked += [("GET", path) for path in (*PAGES, "/static/js/app.js", "/open", "/open?key=x", "/nowhere")]
    assert {status(served, method, path) for method, path in asked} == {401}
    (cookie,) = served.page.context.cookies()
    near = f"{cookie.get('name')}={cookie.get('value', '')[:-1]}"
    assert status(served, "GET", f"{BASE}/session", {"Cookie": near}) == 401


def status(served: Served, method: str, path: str, headers: dict[str, str] | None = None) -> int:
    """Return the status for a client that is not a browser."""
    place = path.replace("{number:int}", "1").replace("{", "").replace("}", "").replace(":path", "")
    given = {"Content-Type": "application/json", "Origin": served.origin} | (headers or {})
    request = urllib.request.Request(served.origin + place, b"{}" if method == "POST" else None, given)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
