"""The inbox in a browser: the order, answers, batches, and keys that act on the focused task."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser_world import DESK, PHONE, Served
from web_world import shared_world
from world import wait_until

pytestmark = pytest.mark.full

expect.set_options(timeout=30_000)
SETTINGS = """
phases.plans.small = ["implement", "test"]
gates.phases.test = "human"
gates.commands.implement = "true"
"""
DONE = 'say: "Rounded **them**. <phase_complete>true</phase_complete>"'
ASK = 'say: "I read the style. <phase_blocked>Which `colour`?</phase_blocked>"'
FAIL = "run: exit 3"
TASKS = (
    *((f"Review {count}", "P2", [f"edit: {{path: f{count}.py, content: a}}", DONE]) for count in range(1, 6)),
    ("Urgent review", "P0", ["edit: {path: u.py, content: a}", DONE]),
    ("Ask the colour", "P1", [ASK]),
    ("Fail once", "P1", [FAIL]),
    ("Fail twice", "P2", [FAIL]),
)
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def inbox(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that runs no tasks, with reviews, a question, failures and a task that the person paused."""
    with shared_world(tmp_path_factory.mktemp("inbox")) as world:
        world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
        (world.root / "ostler.toml").write_text(SETTINGS)
        for title, priority, steps in TASKS:
            script = "\n".join(f"- {step}" for step in steps)
            world.new(title, "--priority", priority, "-d", f"```ostler-script\n{script}\n```\n")
        world.ostler("run", "--all", "-j", "4", code=None)
        world.ostler("pause", world.new("Wait for me"))
        served = Served(world, chromium, "--view-only")
        served.page.wait_for_selector("main")
        yield served
        served.close()


@pytest.fixture
def page(inbox: Served) -> Iterator[Page]:
    """The page of the inbox in a context of its own; a complaint of the page fails the test."""
    made = inbox.another_page("/inbox", viewport=DESK)
    expect(_cards(made).first).to_be_visible()
    yield made
    made.context.close()
    assert inbox.complaints.left() == []


def _cards(page: Page) -> Locator:
    return page.locator(".inbox [data-task]")


def _card(page: Page, title: str) -> Locator:
    return _cards(page).filter(has=page.get_by_role("link", name=title, exact=True))


def _status(inbox: Served, title: str) -> str:
    (found,) = [row["status"] for row in inbox.get("/tasks?limit=50")["tasks"] if row["title"] == title]
    return found


def test_questions_reviews_and_failures_in_order(inbox: Served, page: Page) -> None:
    """By priority, then by the time of waiting; own pauses are folded; cards have what a decision needs."""
    titles = page.locator(".inbox [data-task] .tile-title").all_text_contents()
    assert titles[:2] == ["Ask the colour", "Urgent review"]
    assert titles[-2:] == ["Fail once", "Fail twice"]
    expect(page).to_have_title("9 need you · Inbox · Ostler")
    review = _card(page, "Urgent review")
    expect(review.locator(".inbox-summary strong")).to_have_text("them")
    expect(review.locator(".change-size")).to_contain_text("1 file")
    expect(review.locator(".gate-tick")).to_have_attribute("data-verdict", "pass")
    question = _card(page, "Ask the colour")
    expect(question.locator(".inbox-question")).to_have_text("Which colour?")
    expect(question.locator(".inbox-question code")).to_have_text("colour")
    expect(question.locator(".inbox-summary")).to_have_text("I read the style.")
    page.get_by_text("1 task paused by you").click()
    expect(page.get_by_role("link", name="Wait for me")).to_be_visible()
    assert page.evaluate(WIDER) == 0
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    assert page.evaluate(WIDER) == 0


def test_the_inbox_is_searched_and_filtered(page: Page) -> None:
    """The address has both; a saved view leads back to them from another page."""
    page.keyboard.press("/")
    page.keyboard.type("review")
    page.wait_for_url("**/inbox?q=review")
    expect(_cards(page)).to_have_count(6)
    page.get_by_label("Priority").select_option("P0")
    expect(page.locator(".inbox .tile-title")).to_have_text(["Urgent review"])
    expect(page.get_by_text("1 task found")).to_be_visible()
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Save this view…").click()
    page.keyboard.type("Urgent")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Board").click()
    page.keyboard.press("Control+k")
    page.keyboard.type("view: urgent")
    page.keyboard.press("Enter")
    page.wait_for_url("**/inbox?q=review&priority=P0")
    expect(_cards(page)).to_have_count(1)
    page.get_by_role("searchbox").fill("nothing like it")
    expect(page.get_by_text("No matching tasks")).to_be_visible()


def test_enter_opens_the_review_of_the_focused_task(page: Page) -> None:
    """The link of a review leads to its changes."""
    _card(page, "Review 5").get_by_role("link", name="Review 5").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/review")


def test_a_question_is_answered_where_it_is_shown(inbox: Served, page: Page) -> None:
    """j selects the question, r opens its field, and Ctrl+Enter sends the answer after the time for undo."""
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.keyboard.type("Red.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Answered: Ask the colour")).to_be_visible()
    assert _status(inbox, "Ask the colour") == "blocked"
    expect(_card(page, "Ask the colour")).to_have_count(0)
    assert _status(inbox, "Ask the colour") == "pending"


def test_several_reviews_are_approved_at_once(inbox: Served, page: Page) -> None:
    """x and Shift select a range; one decision approves all of them, and u undoes it."""
    reviews = page.locator("[data-kind=review] .tile-title")
    expect(reviews.nth(3)).to_be_visible()
    first, second, third = reviews.all_text_contents()[1:4]
    _card(page, first).get_by_role("checkbox").click()
    _card(page, third).get_by_role("checkbox").click(modifiers=["Shift"])
    batch = page.get_by_role("region", name="Selected tasks")
    expect(batch).to_contain_text("3 tasks selected")
    expect(batch.get_by_role("button", name="Approve 3")).to_be_visible()
    page.keyboard.press("a")  # also while a checkbox has the focus
    page.keyboard.press("u")
    expect(page.get_by_text("Undone: Approved: 3 tasks")).to_be_visible()
    assert _status(inbox, first) == "needs_review"
    _card(page, first).get_by_role("link", name=first).focus()
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("X")
    page.keyboard.press("a")
    expect(_card(page, first)).to_have_count(0)
    wait_until(lambda: _status(inbox, second) != "needs_review", 20, "the second one was not approved")
    assert _status(inbox, third) == "needs_review"


def test_failed_tasks_are_retried_at_once(inbox: Served, page: Page) -> None:
    """The bar offers what fits the selected tasks."""
    for title in ("Fail once", "Fail twice"):
        _card(page, title).get_by_role("checkbox").click()
    page.get_by_role("button", name="Retry 2").click()
    expect(_card(page, "Fail twice")).to_have_count(0)
    assert {_status(inbox, title) for title in ("Fail once", "Fail twice")} == {"pending"}
