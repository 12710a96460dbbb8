"""Many tabs of one dashboard: a browser has six connections for all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from browser_world import Served
from world import World

pytestmark = pytest.mark.full

TABS = 8


def test_the_eighth_tab_opens_and_receives_what_happens(world: World, serve: Callable[..., Served]) -> None:
    """All load, and the last one shows a new task, also after others are closed."""
    world.ostler("init")
    served = serve("--view-only")
    tabs = [served.page, *(served.page.context.new_page() for _ in range(TABS - 1))]
    for tab in tabs[1:]:
        tab.goto(served.origin)
        expect(tab.get_by_role("heading", name="No tasks yet")).to_be_visible(timeout=30_000)
    task = world.new("Greet the tabs")
    for tab in (tabs[0], tabs[-1]):
        expect(tab.locator(f"[data-task='{task}']")).to_be_visible(timeout=30_000)
    for tab in tabs[1:4]:
        tab.close()  # their connections are free for others now
    world.ostler("pause", task)
    expect(tabs[-1].get_by_text("1 task paused by you")).to_be_visible(timeout=30_000)
