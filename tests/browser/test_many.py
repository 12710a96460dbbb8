"""Ten thousand tasks in the browser, and a client that stops reading."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from browser_world import Served
from many import fill
from world import World, wait_until

pytestmark = pytest.mark.full

MANY = 10_000
DOWN = """() => {
  for (const one of [document.scrollingElement, ...document.querySelectorAll("main *")]) one.scrollTop += 400;
}"""


def test_ten_thousand_tasks_open_scroll_and_are_found(world: World, serve: Callable[..., Served]) -> None:
    """The first rows within a second (ten are allowed), others after scrolling, one by a search."""
    fill(world, MANY)
    served = serve("--view-only")
    served.page.wait_for_selector("main [role=listitem]")
    began = time.monotonic()
    page = served.open("/?view=list&sort=created")
    page.wait_for_selector("main :text('Task 9999 of many')")
    assert time.monotonic() - began < 10
    wait_until(lambda: scrolled_to(page, "Task 9000 of many"), 60, "scrolling brings no more tasks")
    assert page.evaluate("() => document.querySelectorAll('*').length") < 3000
    page.get_by_role("searchbox").fill("Task 7777 of")
    page.get_by_text("Task 7777 of many").first.click()
    expect(page.locator("main h1")).to_have_text("Task 7777 of many")


def test_a_client_that_stops_reading_does_not_slow_others(world: World, serve: Callable[..., Served]) -> None:
    """Its connection stays open and full; another page gets the newest task, and the server answers."""
    fill(world, 3)
    served = serve("--view-only")
    served.page.wait_for_selector("main [role=listitem]")
    stalled = [stop_reading(served) for _ in range(8)]
    fill(world, 3000, "late")
    expect(served.page.get_by_text("751 tasks paused by you").first).to_be_visible(timeout=10_000)
    began = time.monotonic()
    served.get("/session")
    assert time.monotonic() - began < 2
    for one in stalled:
        one.close()


def scrolled_to(page: Page, title: str) -> bool:
    page.evaluate(DOWN)
    page.wait_for_timeout(20)
    return page.get_by_text(title, exact=True).count() > 0


def stop_reading(served: Served) -> socket.socket:
    """A client of the stream that requests everything and reads nothing."""
    place = urlsplit(served.origin)
    (cookie,) = served.page.context.cookies()
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((place.hostname, place.port))
    head = f"Host: {place.netloc}\r\nCookie: {cookie.get('name')}={cookie.get('value')}\r\n\r\n"
    client.sendall(f"GET /api/v1/stream?after=0 HTTP/1.1\r\n{head}".encode())
    return client
