"""Completed work in a browser: what became of it, merge with undo, conflicts, and the menu of a card."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from axe import find_violations
from browser_world import DESK, PHONE, Served
from web_world import shared_world
from world import World, wait_until

pytestmark = pytest.mark.full

expect.set_options(timeout=30_000)
SETTINGS = """
phases.plans.small = ["implement", "test"]
gates.phases.test = "human"
gates.commands.implement = "true"
server.editor = "zed"
"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def new_work(world: World, title: str, path: str, content: str) -> str:
    """A task that writes one file and then waits for a review."""
    done = 'say: "Done. <phase_complete>true</phase_complete>"'
    script = f"- edit: {{path: {path}, content: {content}}}\n- {done}"
    return world.new(title, "-d", f"```ostler-script\n{script}\n```\n")


@pytest.fixture(scope="module")
def done(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that runs tasks, with completed and merged work, a conflict and two reviews."""
    with shared_world(tmp_path_factory.mktemp("outcomes")) as world:
        world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
        (world.root / "ostler.toml").write_text(SETTINGS)
        ended = [new_work(world, f"Ended {count}", f"e{count}.py", "a") for count in range(1, 4)]
        pair = [new_work(world, f"{colour.title()} paint", "paint.txt", colour) for colour in ("red", "blue")]
        for count in (1, 2):
            new_work(world, f"Review {count}", f"r{count}.py", "a")
        world.ostler("run", "--all", "-j", "4", code=None)
        for task in (*ended, *pair):
            world.ostler("approve", task)
        world.ostler("run", *ended, *pair, "-j", "4", code=None)
        world.ostler("merge", pair[0])
        world.ostler("merge", pair[1], code=4)
        served = Served(world, chromium)
        served.page.wait_for_selector("main")
        yield served
        served.close()


@pytest.fixture
def page(done: Served) -> Iterator[Page]:
    made = done.another_page("/", viewport=DESK, permissions=["clipboard-read", "clipboard-write"])
    expect(_card(made, "Red paint")).to_be_visible()
    yield made
    made.context.close()
    assert done.complaints.left() == []


def _card(page: Page, title: str) -> Locator:
    return page.locator("[data-task]").filter(has=page.get_by_role("link", name=title, exact=True))


def _into(done: Served, title: str) -> str | None:
    (row,) = [row for row in done.get("/tasks?limit=50")["tasks"] if row["title"] == title]
    into: str | None = row["published_into"]
    return into


def test_completed_work_shows_its_outcome_and_is_merged_after_the_time_for_undo(
    done: Served, page: Page
) -> None:
    """Size, ticks and branch are on the card; u keeps it unmerged, without u the button merges it."""
    merged = _card(page, "Red paint")
    expect(merged.locator(".outcome")).to_have_text("Merged into main")
    expect(merged.locator(".change-size")).to_contain_text("1 file +1")
    expect(merged.get_by_role("button", name="Merge", exact=True)).to_be_hidden()
    card = _card(page, "Ended 1")
    expect(card.locator(".outcome")).to_have_text("Not merged")
    expect(card.locator(".gate-tick").first).to_have_attribute("data-verdict", "pass")
    card.get_by_role("button", name="Merge", exact=True).click()
    page.keyboard.press("u")
    expect(page.get_by_text("Undone: To be merged: Ended 1")).to_be_visible()
    card.get_by_role("link", name="Ended 1").focus()
    page.keyboard.press("m")
    wait_until(lambda: _into(done, "Ended 1") == "main", 30, "it was not merged")
    expect(card.locator(".outcome")).to_have_text("Merged into main")


@pytest.mark.parametrize("reads", [False, True], ids=["at-once", "after-reading"])
def test_six_keys_from_needs_you_to_merged(done: Served, page: Page, reads: bool) -> None:
    """From the board: select the review and press m; or read its diff first, go back, and press m."""
    title = "Review 2" if reads else "Review 1"
    expect(_card(page, title).first).to_be_visible()
    pressed: list[str] = []

    def press(key: str) -> None:
        page.keyboard.press(key)
        pressed.append(key)

    while page.evaluate("document.activeElement.textContent") != title:
        press("j")
    if reads:
        press("Enter")
        page.wait_for_selector(".review-rail")
        page.go_back()
        pressed.append("Alt+ArrowLeft")  # a headless browser does not react to it
        expect(page.get_by_role("link", name=title, exact=True)).to_be_focused()
    press("m")
    wait_until(lambda: _into(done, title) == "main", 30, "it was not merged")
    assert 2 <= len(pressed) <= 6


def test_a_conflict_is_sent_to_the_agent_or_solved_by_hand(done: Served, page: Page) -> None:
    """The card names the files; the commands are copied, and r sends the API's text to the agent."""
    card = page.locator(".needs [data-task]").filter(has_text="Blue paint")
    expect(card).to_contain_text("It conflicts with main in paint.txt.")
    card.get_by_role("button", name="Copy commands").click()
    expect(page.get_by_text("Copied: the commands")).to_be_visible()
    assert "git merge" in page.evaluate("navigator.clipboard.readText()")
    card.get_by_role("link", name="Blue paint").focus()
    page.keyboard.press("r")
    expect(page.get_by_text("Sent to the agent: Blue paint")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("Undone: Sent to the agent")).to_be_visible()


def test_the_menu_of_a_card_by_keyboard(done: Served, page: Page) -> None:
    """A dot opens it, arrows move, Esc closes it and gives the focus back; it copies the checkout command."""
    _card(page, "Ended 2").get_by_role("link", name="Ended 2").focus()
    page.keyboard.press(".")
    menu = page.get_by_role("menu")
    expect(menu.get_by_role("menuitem", name="Open the task")).to_be_focused()
    expect(menu.get_by_role("menuitem", name="Rebase onto main")).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(page.get_by_role("link", name="Ended 2")).to_be_focused()
    page.keyboard.press(".")
    menu.get_by_role("menuitem", name="Copy the checkout command").click()
    expect(page.get_by_text("Copied: git switch")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("git switch")


def test_on_a_phone_nothing_is_wider_than_the_screen(done: Served, page: Page) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.get_by_role("group", name="Columns").get_by_role("button", name="Done").click()
    expect(_card(page, "Red paint").locator(".outcome")).to_be_visible()
    assert page.evaluate(WIDER) == 0


def test_the_whole_card_opens_the_task_but_its_buttons_do_not(done: Served, page: Page) -> None:
    """A click on the text opens the page, one with Ctrl another tab; the menu of the card stays here."""
    card = _card(page, "Ended 3")
    card.locator(".card-menu").click()
    expect(page.get_by_role("menu")).to_be_visible()
    page.keyboard.press("Escape")
    with page.context.expect_page() as opened:
        card.locator(".outcome").click(modifiers=["ControlOrMeta"])
    opened.value.wait_for_url("**/tasks/ended-3-*")
    assert page.url.endswith("/")
    card.locator(".outcome").click()
    page.wait_for_url("**/tasks/ended-3-*")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_any_width(done: Served, scheme: str) -> None:
    """The board, the list and the inbox, with the menu of a card, at 390, 1440 and 2560 pixels."""
    page = done.another_page("/", viewport=DESK, bypass_csp=True, color_scheme=scheme)
    for path in ("/", "/?view=list", "/inbox"):
        page.goto(done.origin + path)
        expect(page.locator("[data-task]").first).to_be_visible()
        if path == "/":
            _card(page, "Ended 3").get_by_role("checkbox").check()
        for width in (390, 1440, 2560):
            page.set_viewport_size({"width": width, "height": 1000})
            assert page.evaluate(WIDER) == 0, (path, width)
            assert find_violations(page) == [], (path, width)
    page.locator(".card-menu").first.click()
    expect(page.get_by_role("menuitem", name="Open the task")).to_be_focused()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    assert find_violations(page) == []
    page.context.close()


def test_several_completed_tasks_are_merged_at_once(done: Served, page: Page) -> None:
    """x and X select those that can be accepted; the bar has the actions, Esc selects nothing."""
    _card(page, "Ended 3").get_by_role("checkbox").check()
    bar = page.get_by_role("region", name="Selected tasks")
    expect(bar).to_contain_text("1 task selected")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    for title in ("Ended 2", "Ended 3"):
        _card(page, title).get_by_role("link", name=title).focus()
        page.keyboard.press("x")
    expect(bar.get_by_role("button", name="Pull request 2")).to_be_visible()
    expect(bar.get_by_role("button", name="Rebase 2")).to_be_visible()
    page.keyboard.press("m")
    expect(page.get_by_text("To be merged: 2 tasks").first).to_be_visible()
    for title in ("Ended 2", "Ended 3"):
        wait_until(lambda name=title: _into(done, name) == "main", 120, f"{title} was not merged")
