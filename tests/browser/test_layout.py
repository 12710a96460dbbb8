"""Nothing is cut off or overlaps, from a phone to a desk: filters, cards, tabs and axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from browser_world import PHONE, Served
from web_world import shared_world
from world import World

pytestmark = pytest.mark.full

expect.set_options(timeout=30_000)
LAPTOP = {"width": 1024, "height": 768}
TITLE = "Support customers who return only a part of an order after thirty days"
# How much narrower each choice is than the text that it shows, and how far left of the page the line is.
CUT_OFF = """() => {
  const pen = document.createElement("canvas").getContext("2d");
  const room = (one) => one.clientWidth - 2 * parseFloat(getComputedStyle(one).paddingLeft) - 16;
  const shown = [...document.querySelector(".filters").children].filter((one) => one.offsetWidth);
  const selects = shown.filter((one) => one.tagName === "SELECT");
  const short = selects.map((one) => {
    pen.font = getComputedStyle(one).font;
    return pen.measureText(one.selectedOptions[0].text).width - room(one);
  });
  const left = Math.min(...shown.map((one) => one.getBoundingClientRect().left));
  return { count: selects.length, short: Math.max(...short), left };
}"""
# The pairs of marks of an axis that overlap, at each hour of a day.
OVERLAPS = """async () => {
  const { windows } = await import("/static/js/plots/windows.js");
  const main = document.getElementById("main");
  const found = [];
  for (let minutes = 0; minutes < 24 * 60; minutes += 20) {
    const now = new Date(2026, 10, 19).getTime() + minutes * 60_000;
    const node = windows([{ name: "a", detail: "", until: now / 1000 + 3600, status: "limited" }], now);
    main.replaceChildren(node);
    const marks = [...node.querySelectorAll(".window-mark")].filter((one) => one.offsetWidth);
    const edges = marks.map((one) => one.getBoundingClientRect());
    const isOver = edges.map((edge, at) => at > 0 && edges[at - 1].right > edge.left);
    found.push(...isOver.flatMap((is, at) => (is ? [[minutes, marks[at].textContent]] : [])));
  }
  return found;
}"""


@pytest.fixture(scope="module")
def shop(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that runs no tasks, with a review."""
    with shared_world(tmp_path_factory.mktemp("layout")) as world:
        world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
        (world.root / "ostler.toml").write_text('gates.phases.implement = "human"\n')
        _new_review(world)
        served = Served(world, chromium, "--view-only")
        served.page.wait_for_selector("main")
        yield served
        served.close()
        assert served.complaints.left() == []


def _new_review(world: World) -> None:
    done = 'say: "Done. <phase_complete>true</phase_complete>"'
    script = f"```ostler-script\n- edit: {{path: a.py, content: a}}\n- {done}\n```\n"
    world.new(TITLE, "--weight", "trivial", "-d", script)
    world.ostler("run", "--all", code=4)


@pytest.mark.parametrize("width", [1024, 1440, 2560])
def test_the_filters_of_the_board_show_their_words(shop: Served, width: int) -> None:
    page = shop.another_page("/", viewport={"width": width, "height": 900})
    expect(page.get_by_role("link", name=TITLE)).to_be_visible()
    found = page.evaluate(CUT_OFF)
    assert found["count"] == 2  # there is no pipeline
    assert found["short"] <= 0, found
    assert found["left"] >= 0, found
    page.context.close()


@pytest.mark.parametrize("path", ["/", "/inbox"])
def test_the_menu_of_a_card_is_in_its_first_line_on_a_phone(shop: Served, path: str) -> None:
    page = shop.another_page(path, viewport=PHONE)
    card = page.locator("[data-task]", has=page.get_by_role("link", name=TITLE)).first
    chip, menu = _box(page, card.locator(".chip").first), _box(page, card.locator(".card-menu"))
    assert abs(chip["y"] + chip["height"] / 2 - menu["y"] - menu["height"] / 2) < 20
    page.context.close()


def test_all_tabs_of_a_task_are_visible_on_a_laptop(shop: Served) -> None:
    page = shop.another_page("/", viewport=LAPTOP)
    _open_task(shop, page)
    bar = page.locator(".task-tabs > .tabs")
    assert bar.evaluate("(node) => node.scrollWidth - node.clientWidth") <= 0
    page.context.close()


def test_the_title_of_a_task_has_its_own_line_on_a_phone(shop: Served) -> None:
    page = shop.another_page("/", viewport=PHONE)
    _open_task(shop, page)
    title = _box(page, page.locator(".task-name"))
    assert title["width"] > 250
    review = _box(page, page.get_by_role("link", name="Review", exact=True))
    assert review["y"] >= title["y"] + title["height"]
    page.context.close()


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_the_hours_of_an_axis_do_not_overlap(shop: Served, width: int) -> None:
    page = shop.another_page("/machine", viewport={"width": width, "height": 900})
    page.get_by_role("heading", name="Machine").wait_for()
    assert page.evaluate(OVERLAPS) == []
    page.context.close()


def _open_task(shop: Served, page: Page) -> None:
    (row,) = shop.get("/tasks?limit=10")["tasks"]
    page.goto(f"{shop.origin}/tasks/{row['id']}")
    expect(page.locator(".task-tabs .tab").first).to_be_visible()


def _box(page: Page, node: Any) -> dict[str, float]:
    expect(node).to_be_visible()
    box: dict[str, float] = node.bounding_box()
    return box
