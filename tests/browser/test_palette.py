"""The command palette: tasks, pages and the actions of the selected task, with keys only and by touch."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from axe import find_violations
from browser_world import DESK, PHONE, Served
from web_world import shared_world

pytestmark = pytest.mark.full

expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def idle(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that runs no tasks, with some that wait."""
    with shared_world(tmp_path_factory.mktemp("palette")) as world:
        for title in ("Fix the slug", "Count the hooves", "Rename the farrier"):
            world.new(title)
        served = Served(world, chromium, "--view-only")
        served.page.wait_for_selector("main")
        yield served
        served.close()


@pytest.fixture
def page(idle: Served) -> Iterator[Page]:
    made = idle.another_page("/", viewport=DESK, bypass_csp=True)
    expect(made.locator(".lane [data-task]").first).to_be_visible()
    yield made
    made.context.close()
    assert idle.complaints.left() == []


def test_a_task_is_found_and_opened_with_keys(page: Page) -> None:
    """Ctrl+K, a part of the title, Enter; Esc closes the palette without doing anything."""
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search tasks and commands")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("hooves")
    option = page.get_by_role("option", name="Count the hooves")
    expect(option).to_have_attribute("aria-selected", "true")
    assert field.get_attribute("aria-activedescendant") == option.get_attribute("id")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tasks/count-the-hooves-*")


def test_the_selected_task_comes_first(idle: Served, page: Page) -> None:
    """Its actions are a group of their own; Pause is found by its name and sent."""
    title = "Fix the slug"
    page.get_by_role("link", name=title).focus()
    page.keyboard.press("Control+k")
    own = page.get_by_role("group", name=title)
    expect(own.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    page.keyboard.type("pause")
    expect(page.get_by_role("dialog").get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 task paused by you")).to_be_visible()


def test_pages_and_no_match(page: Page) -> None:
    """Words in any order find a page; what matches nothing says so, and Enter does nothing then."""
    page.keyboard.press("Control+k")
    page.keyboard.type("no such thing")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()
    page.keyboard.press("Enter")
    page.get_by_role("combobox", name="Search tasks").fill("inbox go")
    page.keyboard.press("Enter")
    page.wait_for_url("**/inbox")


def test_a_view_is_saved_opened_by_its_name_and_removed(page: Page) -> None:
    """The address has its filters; the menu and the palette have its name, in this project only."""
    page.get_by_role("searchbox").fill("hooves")
    page.wait_for_url("**/?q=hooves")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Save this view…").click()
    page.keyboard.type("My hooves")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved: My hooves.")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url("**/inbox")
    page.keyboard.press("Control+k")
    page.keyboard.type("my hoov")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=hooves")
    expect(page.locator(".lane [data-task]")).to_have_count(1)
    stored = page.evaluate("JSON.parse(localStorage.getItem('ostler.views'))")
    assert list(stored.values()) == [{"My hooves": "q=hooves"}]
    page.get_by_role("button", name="Views").click()
    expect(page.get_by_role("link", name="My hooves")).to_have_attribute("aria-current", "true")
    assert find_violations(page) == []
    page.get_by_role("button", name="Remove the view My hooves").click()
    expect(page.get_by_role("link", name="My hooves")).to_have_count(0)
    page.evaluate("localStorage.setItem('ostler.views', 'broken')")
    page.reload()
    expect(page.locator(".lane [data-task]")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_palette_has_no_findings_of_axe(idle: Served, scheme: str) -> None:
    """On a phone it is opened by a button and used by touch."""
    page = idle.another_page("/", viewport=PHONE, bypass_csp=True, has_touch=True, color_scheme=scheme)
    page.get_by_role("button", name=re.compile("Search tasks and commands")).tap()
    expect(page.get_by_role("option").first).to_be_visible()
    assert find_violations(page) == []
    page.get_by_role("option", name="Go to the machine").tap()
    page.wait_for_url("**/machine")
