"""The page of a task: accessible in both themes at every width, and the decision never scrolls away."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from axe import find_violations
from browser_world import DESK, PHONE, Served
from world import World

pytestmark = pytest.mark.full

WIDE = {"width": 2560, "height": 1440}
TABS = ("changes", "gates", "prompts", "files", "spending", "request", "events", "replay")
LEAST_TARGET = 44
OPEN_ALL = "document.querySelectorAll('.transcript details').forEach((one) => { one.open = true; })"
FITS = """() => {
  const { scrollWidth, scrollHeight } = document.documentElement;
  return scrollWidth <= innerWidth && scrollHeight <= innerHeight;
}"""
expect.set_options(timeout=30_000)


def _reviewed(world: World) -> str:
    """A task that waits for a decision, with a long summary and many tools."""
    world.environ |= {"OSTLER_RUN__EXECUTOR": "scripted", "OSTLER_GATES__DEFAULT": "human"}
    summary = (
        "## Done\n\n" + "One more line of the summary.\n\n" * 60 + "<phase_complete>true</phase_complete>"
    )
    steps = ["edit: {path: a.py, content: 'x = 1'}", *["tool: {name: Bash, detail: make test}"] * 40]
    script = "\n".join(f"- {step}" for step in (*steps, f"say: {json.dumps(summary)}"))
    task = world.new("Write", "-d", f"```ostler-script\n{script}\n```\n")
    world.ostler("run", task, code=4)
    return task


def _is_inside(page: Page, place: str) -> bool:
    box, size = page.locator(place).bounding_box(), page.viewport_size
    assert box and size
    return box["y"] >= 0 and box["y"] + box["height"] <= size["height"]


def test_axe_finds_nothing_in_both_themes(world: World, serve: Callable[..., Served]) -> None:
    """Every tab, the opened timeline and both views of the rail, from a phone to a wide screen."""
    task = _reviewed(world)
    served = serve("--view-only")
    found: list[str] = []
    for theme in ("light", "dark"):
        for size in (DESK, PHONE, WIDE):
            page = served.another_page(viewport=size, color_scheme=theme, bypass_csp=True)
            page.goto(f"{served.origin}/tasks/{task}")
            expect(page.locator("[data-verb=approve]")).to_be_enabled()
            page.evaluate(OPEN_ALL)
            found += find_violations(page)
            for tab in TABS:
                page.locator(f"#tab-{tab}").click()
                found += find_violations(page)
            page.keyboard.press("t")
            if size == PHONE:
                page.locator(".rail-open").click()
            page.get_by_role("button", name="Steps").click()
            expect(page.locator(".step")).to_have_count(1)
            found += find_violations(page)
            page.context.close()
    assert found == []


def test_the_decision_is_always_visible(world: World, serve: Callable[..., Served]) -> None:
    """Neither a long transcript nor a long summary moves it, and the page itself never scrolls."""
    task = _reviewed(world)
    served = serve("--view-only")
    for size in (DESK, PHONE, {"width": 1024, "height": 600}):
        page = served.another_page(f"/tasks/{task}", viewport=size)
        expect(page.locator("[data-verb=approve]")).to_be_enabled()
        page.evaluate("document.querySelectorAll('*').forEach((one) => { one.scrollTop = 1e6; })")
        assert _is_inside(page, "[data-verb=approve]")
        assert _is_inside(page, ".task-head")
        assert page.evaluate(FITS)
        page.context.close()


def test_a_phone_has_a_bar_and_a_rail_that_opens(world: World, serve: Callable[..., Served]) -> None:
    """Buttons of 44 pixels at the bottom; sending back without a text opens the rail at its field."""
    task = _reviewed(world)
    page = serve("--view-only").another_page(f"/tasks/{task}", viewport=PHONE, has_touch=True)
    for name in (".rail-open", "[data-verb=approve]", "[data-verb=back]"):
        box = page.locator(name).bounding_box()
        assert box and box["height"] >= LEAST_TARGET
    expect(page.locator(".rail-words")).to_be_hidden()
    page.locator("[data-verb=back]").tap()
    expect(page.locator(".rail-words")).to_be_focused()
    page.locator(".rail-open").tap()
    expect(page.locator(".rail-words")).to_be_hidden()
