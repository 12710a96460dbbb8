"""Several projects in one server: the list, one inbox, the menu, and pages that stay in their project."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from axe import find_violations
from browser_world import DESK, PHONE, Served
from world import World, wait_until

pytestmark = pytest.mark.full

expect.set_options(timeout=30_000)
SETTINGS = """
phases.plans.small = ["implement", "test"]
gates.phases.test = "human"
"""
DONE = 'say: "Rounded **them**. <phase_complete>true</phase_complete>"'
PLACES = (("one", "app"), ("two", "app"), ("three", "inbox"))
TASKS = {
    "one": (("Fix the login", "P2", DONE),),
    "two": (
        ("Rotate the keys", "P0", DONE),
        ("Ask the colour", "P1", 'say: "<phase_blocked>Which?</phase_blocked>"'),
    ),
    "three": (("Fail once", "P1", "run: exit 3"),),
}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, World]]:
    """Three projects of one user: two in directories of the same name, one named like a page."""
    base = tmp_path_factory.mktemp("all")
    (base / "home").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(base / "home"))
        made = {place: World(base / place, name) for place, name in PLACES}
    for place, world in made.items():
        world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
        (world.root / "ostler.toml").write_text(SETTINGS)
        for title, priority, step in TASKS[place]:
            script = f"- edit: {{path: f.py, content: a}}\n- {step}"
            world.new(title, "--priority", priority, "-d", f"```ostler-script\n{script}\n```\n")
        world.ostler("run", "--all", code=None)
    yield made
    for world in made.values():
        world.close()


@pytest.fixture(scope="module")
def served(worlds: dict[str, World], chromium: Browser) -> Iterator[Served]:
    """One server for all of them."""
    made = Served(worlds["one"], chromium, "--all")
    made.page.wait_for_selector(".project")
    yield made
    made.close()


@pytest.fixture
def page(served: Served) -> Iterator[Page]:
    """A page in a context of its own; a complaint of the page fails the test."""
    made = served.another_page("/", viewport=DESK)
    yield made
    made.context.close()
    assert served.complaints.left() == []


def _titles(page: Page) -> list[str]:
    return page.locator(".inbox [data-task] .tile-title").all_text_contents()


def test_one_inbox_for_all_projects(served: Served, worlds: dict[str, World], page: Page) -> None:
    """The order is that of one inbox; a decision and a link lead to the task's own project."""
    expect(page.locator(".project")).to_have_count(3)
    expect(page.locator(".project h2")).to_have_text(["one/app", "two/app", "inbox"])
    for keys, path in (("gi", "/inbox"), ("ga", "/"), ("gI", "/inbox")):  # as on the pages of a project
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url(f"{served.origin}{path}")
    expect(page.locator(".inbox [data-task]")).to_have_count(4)
    assert _titles(page) == ["Ask the colour", "Rotate the keys", "Fix the login", "Fail once"]
    expect(page).to_have_title("4 need you · Inbox · Ostler")
    rotate = page.locator(".inbox-card").filter(has_text="Rotate the keys")
    expect(rotate.get_by_role("link", name="two/app", exact=True)).to_have_attribute("href", "/p/app-2/")
    rotate.get_by_role("link", name="Rotate the keys").focus()
    page.keyboard.press("a")
    expect(rotate).to_have_class("inbox-card is-held")
    page.keyboard.press("Enter")  # another page: the decision is sent at once
    page.wait_for_url("**/p/app-2/tasks/**")
    expect(page.get_by_role("heading", name="Rotate the keys")).to_be_visible()
    wait_until(lambda: _status(worlds["two"], "Rotate the keys") == "completed", 60, "not approved")
    assert _status(worlds["one"], "Fix the login") == "needs_review"


def test_the_menu_leads_to_another_project(served: Served, page: Page) -> None:
    """By keys alone; every link of a project's pages stays in it, and its API answers below its name."""
    page.goto(f"{served.origin}/p/app/")
    expect(page.get_by_role("link", name="Fix the login").first).to_be_visible()
    page.keyboard.press("P")
    menu = page.locator("#projects")
    expect(menu.locator("a").first).to_be_focused()
    expect(menu.locator("[aria-current]")).to_have_text("one/app1 needs you")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/inbox/")
    expect(page.get_by_role("link", name="Fail once").first).to_be_visible()
    outside = "[...document.querySelectorAll('#bar nav a, main a')].map((a) => new URL(a.href).pathname)"
    assert [path for path in page.evaluate(outside) if not path.startswith("/p/inbox/")] == []
    for key, path in {"i": "inbox", "m": "models", "s": "settings", "b": ""}.items():
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/p/inbox/{path}")
        expect(page.locator("main h1, main .problem").first).not_to_have_text("Not found")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search tasks and commands").fill("project: two/app")
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/app-2/")
    expect(page.locator("#bar").get_by_role("button", name="app")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_url(f"{served.origin}/")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_the_server_are_accessible(served: Served, scheme: str) -> None:
    """No findings of axe, and no page is wider than a phone."""
    page = served.another_page("/", viewport=PHONE, color_scheme=scheme, bypass_csp=True)
    for path, selector in (("/", ".project"), ("/inbox", ".inbox-card"), ("/p/app/", ".tile")):
        page.goto(served.origin + path)
        expect(page.locator(selector).first).to_be_visible()
        assert page.evaluate(WIDER) == 0, path
        assert find_violations(page) == [], path
    page.context.close()


def test_a_new_project_appears_and_a_deleted_one_is_named(
    served: Served, worlds: dict[str, World], page: Page
) -> None:
    """Without a restart or a reload."""
    world = World(worlds["one"].root.parent.parent / "four", "later")
    world.environ["HOME"] = worlds["one"].environ["HOME"]
    world.new("Wait here", "--not-before", "2099-01-01")
    expect(page.locator(".project")).to_have_count(4)
    (world.root / ".ostler").rename(world.root / "away")
    (world.root / ".git").rename(world.root / "away.git")
    expect(page.locator(".project[data-state=gone]")).to_contain_text("has no project any more")
    world.ostler("projects", "forget", "later", HOME=worlds["one"].environ["HOME"])
    expect(page.locator(".project")).to_have_count(3)
    world.close()


def test_work_is_merged_in_its_own_project(served: Served, worlds: dict[str, World], page: Page) -> None:
    """The menu of a card and the action for all selected tasks lead to the project of the task."""
    page.goto(f"{served.origin}/inbox")
    card = page.locator(".inbox-card").filter(has_text="Fix the login")
    card.locator(".card-menu").click()
    review = page.get_by_role("menuitem", name="Open the review")
    expect(review).to_have_attribute("href", re.compile(r"^/p/app/tasks/.+/review$"))
    expect(page.get_by_role("menuitem", name="Copy the checkout command")).to_be_visible()
    page.keyboard.press("Escape")
    card.get_by_role("checkbox").click()
    page.get_by_role("button", name="Approve and merge 1").click()
    expect(card).to_have_count(0)
    wait_until(lambda: _status(worlds["one"], "Fix the login") == "completed", 60, "it was not merged")
    (task,) = [task["id"] for task in worlds["one"].json("status")["tasks"]]
    assert worlds["one"].show(task)["published_into"] == "main"


def _status(world: World, title: str) -> str:
    (found,) = [task["status"] for task in world.json("status")["tasks"] if task["title"] == title]
    return found
