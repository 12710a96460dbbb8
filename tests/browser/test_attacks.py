"""S4 of the list of faults: every text of a task or an agent is shown, and none of it runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from browser_world import Served
from hostile import make_hostile
from loopback import Loopback
from ostler.web.pages import STATIC
from payloads import armed
from world import World, wait_until

pytestmark = pytest.mark.full

TABS = ("changes", "gates", "prompts", "files", "spending", "request", "events", "replay")
PAGES = ("/pipelines", "/models", "/machine", "/cost?by=task&range=all", "/cost?by=model&in=tokens")
NAIVE = "<!doctype html><link rel=icon href='data:,'><p>{0}</p><a title=\"{0}\">x</a>"
NAIVE_APPEND = """for (const child of flat(children)) {
  if (typeof child === "string") node.insertAdjacentHTML("beforeend", child);
  else node.append(child);
}"""
SHOWN = "() => document.querySelector('main *') || document.body.innerText.trim()"
SEEN = "() => document.documentElement.innerHTML"
# A link may lead to a page of the dashboard or elsewhere, but it may not run anything.
LINKS = "() => [...document.links].map((link) => link.protocol)"
OPEN_ALL = """() => {
  for (const one of document.querySelectorAll("main details:not([open])")) one.open = true;
  for (const one of [document.scrollingElement, ...document.querySelectorAll("main *")]) {
    if (one.scrollHeight > one.clientHeight + 1) one.scrollTop += one.clientHeight * 0.8;
  }
}"""


class Looker:
    """Visits pages and records which payloads are on them as text."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.seen: set[str] = set()

    def visit(self, path: str, ready: str, times: int = 1) -> None:
        page = self._served.open(path)
        page.wait_for_selector(ready)
        self.look_through(page, times)

    def open_tab(self, name: str, times: int) -> None:
        self._served.page.click(f"#tab-{name}")
        self.look_through(self._served.page, times)

    def look_through(self, page: Page, times: int) -> None:
        for _ in range(times):
            page.evaluate(OPEN_ALL)
            page.wait_for_timeout(60)
            self.look(page)

    def look(self, page: Page) -> None:
        assert page.evaluate("() => window.__pwned") is None
        assert set(page.evaluate(LINKS)) <= {"http:", "https:"}
        self.seen |= set(re.findall(r"127\.0\.0\.1:\d+/([a-z]\d+)\b", page.evaluate(SEEN)))

    def link(self, path: str, chosen: str) -> str | None:
        return self._served.open(path).locator(chosen).first.get_attribute("href")

    def count(self, field: str) -> int:
        return sum(name.startswith(field) for name in self.seen)


@pytest.fixture
def canary() -> Loopback:
    return Loopback({})


def test_the_payloads_run_where_a_page_is_naive(chromium: Browser, canary: Loopback) -> None:
    """The same payloads and canary on pages that use text as markup: there they run."""
    with canary:
        naive = {f"/{number}": NAIVE.format(text) for number, text in enumerate(armed(canary.origin))}
        frames = "".join(f"<iframe src={path}></iframe>" for path in naive)
        with Loopback({"/": frames, **naive}) as server:
            page = chromium.new_page()
            page.goto(server.origin)
            reported = lambda: page.wait_for_timeout(50) or len(set(canary.asked))  # noqa: E731
            wait_until(lambda: reported() >= 50, 30, "the payloads have no effect")
            page.close()


def test_no_text_of_tasks_and_agents_runs_as_code(
    world: World, serve: Callable[..., Served], canary: Loopback
) -> None:
    """A hundred payloads in every field, on every page and tab: all are shown, and all are only text."""
    with canary:
        make_hostile(world, canary.origin)
        world.ostler("pipeline", "run", "launch", "--later")
        served = serve()
        _ask_for_all(served, canary.origin)
        task = _worked(served, canary.origin)
        looker = Looker(served)
        _visit_all(looker, task)
        assert [field for field in "tbagm" if looker.count(field) < 90] == [], sorted(looker.seen)
        assert canary.asked == []


def test_a_dashboard_that_takes_text_for_markup_is_detected(served: Served, canary: Loopback) -> None:
    """If the one module that creates elements is naive, a single title is enough to fail a test here."""
    safe = (STATIC / "js" / "dom.js").read_text("utf-8")
    naive = safe.replace("node.append(...flat(children));", NAIVE_APPEND)
    assert naive != safe
    answer = {"body": naive, "content_type": "text/javascript"}
    served.page.context.route("**/js/dom.js", lambda route: route.fulfill(**answer))
    with canary:
        held = served.say("/tasks", title="Held", hold=True)["id"]
        served.say("/tasks", title=f"<img src={canary.origin}/x onerror=alert(1)>", after=[held])
        served.open("/").wait_for_selector("main .tile")
        wait_until(lambda: _policy_broken(served), 20, "nothing was reported")
    served.complaints.allow("")


def _policy_broken(served: Served) -> bool:
    served.page.wait_for_timeout(20)
    return any("policy: img-src" in text for text in served.complaints.left())


def test_nothing_in_an_address_runs(served: Served, canary: Loopback) -> None:
    """A hostile link is a page that does not exist, or a search without results."""
    served.complaints.allow("404")
    with canary:
        for payload in armed(canary.origin)[::17]:
            for path in ("/tasks/", "/pipelines/", "/?q="):
                served.open(path + quote(payload, safe="<>\"'"))
                served.page.wait_for_function(SHOWN)
                assert served.page.evaluate("() => window.__pwned") is None
        assert canary.asked == []


def _ask_for_all(served: Served, canary: str) -> None:
    """Create a task for each payload; only the first is run, the others wait for a person."""
    for number, (title, body) in enumerate(zip(armed(canary, "t"), armed(canary, "b"), strict=True)):
        printed = {"title": title[:200], "body": body if number else "\n\n".join(armed(canary, "b"))}
        served.say(
            "/tasks", hold=number > 0, **{name: text.replace("\0", "") for name, text in printed.items()}
        )


def _worked(served: Served, canary: str) -> str:
    """Return the task that ran, after the gate rejected it and a person cancelled it with a long reason."""
    blocked = lambda: served.get("/tasks?status=blocked")["tasks"]  # noqa: E731
    wait_until(blocked, 60, "the gate did not reject")
    task = str(blocked()[0]["id"])
    served.say(f"/tasks/{task}/cancel", reason="\n".join(armed(canary, "m")).replace("\0", ""))
    return task


def _visit_all(looker: Looker, task: str) -> None:
    looker.visit("/", "main .paused-tasks", times=6)
    looker.visit("/?view=list", "main [role=row]", times=8)
    looker.visit(f"/tasks/{task}", "main .tool", times=8)
    for tab in TABS:
        looker.open_tab(tab, times=2)
    for path in PAGES:
        looker.visit(path, "main h1", times=2)
    looker.visit(str(looker.link("/pipelines", "main .run")), "main .node")
