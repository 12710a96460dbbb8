"""The browser fixtures themselves: the faults of a bad page are reported, so no report means a good page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page

from browser_world import Complaints
from loopback import Loopback
from world import wait_until

pytestmark = pytest.mark.full

POLICY = {"Content-Security-Policy": "default-src 'self'; script-src 'unsafe-inline'"}
BAD = {
    "console: trouble": "<script>console.error('trouble')</script>",
    "uncaught: thrown": "<script>setTimeout(() => { throw new Error('thrown') })</script>",
    "dialog: hello": "<script>alert('hello')</script>",
    "console: policy: style-src-attr": "<p style='color: red'>red</p>",
    "left the machine: GET http://example.org": "<a id=go href='http://example.org/'>out</a>",
}


def _reported(page: Page, complaints: Complaints, received: str) -> bool:
    page.wait_for_timeout(20)
    return any(text.startswith(received) for text in complaints.left())


@pytest.mark.parametrize("received", BAD)
def test_a_bad_page_is_reported(received: str, chromium: Browser) -> None:
    """Errors, dialogs, broken policy and requests to other hosts each leave a complaint."""
    complaints = Complaints()
    with Loopback({"/": f"<!doctype html><link rel=icon href='data:,'>{BAD[received]}"}, POLICY) as server:
        context = chromium.new_context()
        complaints.listen(context)
        page = context.new_page()
        page.goto(server.origin)
        if page.locator("#go").count():
            page.click("#go", no_wait_after=True)
        wait_until(lambda: _reported(page, complaints, received), 20, f"not reported: {received}")
        context.close()


def test_what_a_test_allows_is_no_complaint() -> None:
    """A refusal that a test provokes does not fail it, and everything else still does."""
    complaints = Complaints()
    complaints.received += ["console: 409 Conflict", "console: 500"]
    complaints.allow("409")
    assert complaints.left() == ["console: 500"]
