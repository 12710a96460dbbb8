"""Notifications of the browser: switched on by the person, shown while the tab is hidden, one per task."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from browser_world import Served
from world import World

pytestmark = pytest.mark.full

# A browser without a screen shows none: the real ones are recorded where they are made.
RECORD = """
globalThis.made = [];
const Real = Notification;
globalThis.Notification = class extends Real {
  constructor(title, options) { super(title, options); made.push(this); }
};
globalThis.hide = (value) => Object.defineProperty(document, "hidden", { value, configurable: true });
"""
FOLLOW = """async () => {
  const { follow } = await import("/static/js/feed.js");
  const take = ({ type, task_id }) => { if (type === "gate_waiting") globalThis.asked = task_id; };
  globalThis.following ??= follow(take) ?? true;
}"""
SHOWN = "made.map(({ title, body, tag }) => ({ title, body, tag }))"


def test_a_hidden_tab_notifies_once_per_task(world: World, serve: Callable[..., Served]) -> None:
    """Off at first; then for what needs the person, not while the tab is visible; a click opens the task."""
    (world.root / "ostler.toml").write_text('[gates]\ndefault = "human"\n')
    served = serve()
    page = served.page
    page.context.grant_permissions(["notifications"], origin=served.origin)
    page.add_init_script(RECORD)
    page.reload()
    switch = page.get_by_role("switch", name="Notify me in this browser")
    page.get_by_role("button", name="Menu").click()
    expect(switch).to_have_attribute("aria-checked", "false")
    page.evaluate("hide(true)")
    _wait_for_review(page, world, "While it is off")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "true")
    page.evaluate("hide(false)")
    _wait_for_review(page, world, "While it is visible")
    assert page.evaluate(SHOWN) == []
    page.evaluate("hide(true)")
    task = _wait_for_review(page, world, "While it is hidden")
    page.wait_for_function("made.length > 0")
    (shown,) = page.evaluate(SHOWN)
    assert (shown["title"], shown["tag"]) == ("Needs you: While it is hidden", f"/tasks/{task}")
    page.evaluate("hide(false)")
    page.evaluate("made[0].onclick()")
    page.wait_for_url(f"**/tasks/{task}")
    page.reload()
    page.get_by_role("button", name="Menu").click()
    expect(switch).to_have_attribute("aria-checked", "true")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "false")


def _wait_for_review(page: Page, world: World, title: str) -> str:
    """Create a task and wait until the page knows that it needs a person."""
    page.evaluate(FOLLOW)
    task = world.new(title)
    page.wait_for_function("task => globalThis.asked === task", arg=task, timeout=60_000)
    page.wait_for_timeout(300)  # a notification has its title by then
    return task
