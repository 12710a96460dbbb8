"""The queue in a browser: places, moves by key, by drag and by menu, and the dialog that edits a task."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browser_world import DESK, Served
from web_world import shared_world
from world import wait_until

pytestmark = pytest.mark.full

expect.set_options(timeout=30_000)
TITLES = "[data-group=waiting] .tile-title"


@pytest.fixture
def idle(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that runs no tasks, with four that wait: three of P2 and one of P0."""
    with shared_world(tmp_path_factory.mktemp("queue")) as world:
        for title in ("One", "Two", "Three"):
            world.new(title)
        world.new("Urgent", "--priority", "P0")
        served = Served(world, chromium, "--view-only")
        served.page.wait_for_selector("main")
        yield served
        served.close()
        assert served.complaints.left() == []


@pytest.fixture
def page(idle: Served) -> Page:
    made = idle.another_page("/", viewport=DESK)
    expect(made.locator(TITLES)).to_have_text(["Urgent", "One", "Two", "Three"])
    expect(made.locator("[data-group=waiting] .queue-place")).to_have_text(["#1", "#2", "#3", "#4"])
    return made


def _queue(idle: Served) -> list[str]:
    return [row["title"] for row in idle.get("/tasks?group=waiting&sort=priority")["tasks"]]


def test_keys_move_the_selected_task(idle: Served, page: Page) -> None:
    """It keeps the focus; the places on the cards follow, and ostler status has the same order."""
    page.get_by_role("link", name="Three").focus()
    page.keyboard.press("K")
    expect(page.locator(TITLES)).to_have_text(["Urgent", "One", "Three", "Two"])
    expect(page.get_by_role("link", name="Three")).to_be_focused()
    wait_until(lambda: _queue(idle) == ["Urgent", "One", "Three", "Two"], 20, "it was not moved")
    page.keyboard.press("K")
    wait_until(lambda: _queue(idle) == ["Urgent", "Three", "One", "Two"], 20, "it was not moved again")
    page.keyboard.press("J")
    wait_until(lambda: _queue(idle) == ["Urgent", "One", "Three", "Two"], 20, "it was not moved down")


def test_a_card_is_dragged_and_takes_the_priority_of_its_place(idle: Served, page: Page) -> None:
    """Above the urgent task it is urgent; the menu moves one to the end of its priority."""
    cards = page.locator("[data-group=waiting] .tile")
    cards.filter(has_text="Two").drag_to(cards.first, target_position={"x": 40, "y": 4})
    expect(page.get_by_text("Moved: Two. Its priority is P0 now.")).to_be_visible()
    wait_until(lambda: _queue(idle) == ["Two", "Urgent", "One", "Three"], 20, "it was not dragged")
    cards.filter(has_text="One").locator(".card-menu").click()
    page.get_by_role("menuitem", name="Move to the end of P2").click()
    wait_until(lambda: _queue(idle) == ["Two", "Urgent", "Three", "One"], 20, "it is not the last one")


def test_a_waiting_task_is_edited(idle: Served, page: Page) -> None:
    """A refused value keeps the dialog and what was typed; only changed fields are sent."""
    page.get_by_role("link", name="One").focus()
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Budget, $").fill("much")
    page.keyboard.press("Control+Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("invalid amount much")
    dialog.get_by_label("Budget, $").fill("2.50")
    dialog.get_by_label("Title").fill("One and a half")
    dialog.get_by_label("Priority").select_option("P1")
    page.keyboard.press("Control+Enter")
    expect(dialog).to_have_count(0)
    expect(page.locator(TITLES)).to_have_text(["Urgent", "One and a half", "Two", "Three"])
    (task,) = [row["id"] for row in idle.get("/tasks")["tasks"] if row["title"] == "One and a half"]
    request = idle.get(f"/tasks/{task}/request")
    assert (request["budget_usd"], request["priority"], request["weight"]) == (2.5, "P1", "small")
    page.keyboard.press("Escape")
