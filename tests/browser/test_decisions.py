"""Decisions on the board: undo, keys that act on the focused task only, and a decision in two tabs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser_world import Served
from web_world import shared_world
from world import World, wait_until

pytestmark = pytest.mark.full

expect.set_options(timeout=30_000)
REVIEW = "```ostler-script\n- say: Done. <phase_complete>true</phase_complete>\n```\n"
ASK = "```ostler-script\n- say: <phase_blocked>Which colour?</phase_blocked>\n```\n"


@pytest.fixture(scope="module")
def decided(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that runs no tasks, with tasks that wait for a review and one with a question."""
    with shared_world(tmp_path_factory.mktemp("decisions")) as world:
        world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
        world.environ["OSTLER_GATES__DEFAULT"] = "human"
        for count in range(1, 8):
            world.new(f"Review {count}", "-d", REVIEW)
        world.new("Ask the colour", "-d", ASK)
        world.ostler("run", "--all", "-j", "4", code=None)
        served = Served(world, chromium, "--view-only")
        yield served
        served.close()


@pytest.fixture
def page(decided: Served) -> Iterator[Page]:
    """The board in a context of its own; a complaint of the page fails the test."""
    made = decided.another_page() if decided.page else None
    assert made is not None
    expect(made.locator(".needs [data-task]").first).to_be_visible()
    yield made
    made.context.close()
    assert decided.complaints.left() == []


def _waiting(decided: Served, title: str) -> str:
    """Return the id of a task that waits for a decision."""
    (found,) = [row["id"] for row in decided.get("/tasks?limit=50")["tasks"] if row["title"] == title]
    return found


def _card(page: Page, task: str) -> Locator:
    return page.locator(f".needs [data-task='{task}']")


def _focus(page: Page, task: str) -> None:
    """Show all cards and focus the one of this task."""
    more = page.locator(".needs-section[data-kind=review]").get_by_role("button", name="Show")
    while more.is_visible():
        more.click()
    _card(page, task).locator("a").focus()


def _status(world: World, task: str) -> str:
    return world.show(task)["status"]


def test_an_approval_is_undone_and_sends_nothing(decided: Served, page: Page) -> None:
    """Undo within the time sends nothing, and the card is as before."""
    task = _waiting(decided, "Review 1")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.clock.install()
    _focus(page, task)
    page.keyboard.press("a")
    expect(page.get_by_text("Approved: Review 1")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("Undone: Approved: Review 1")).to_be_visible()
    expect(_card(page, task).get_by_role("button", name="Approve")).to_have_attribute(
        "aria-disabled", "false"
    )
    page.clock.fast_forward(6000)  # longer than a decision is held
    assert sent == []
    assert _status(decided.world, task) == "needs_review"


def test_a_button_is_undone_as_well_and_a_held_decision_is_sent(decided: Served, page: Page) -> None:
    """A decision of a button is sent after its time, and not before."""
    task = _waiting(decided, "Review 2")
    _focus(page, task)
    _card(page, task).get_by_role("button", name="Approve").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert _status(decided.world, task) == "needs_review"
    expect(_card(page, task)).to_have_count(0)
    assert _status(decided.world, task) != "needs_review"


def test_a_second_decision_sends_the_first_one_and_leaving_sends_the_last(
    decided: Served, page: Page
) -> None:
    """No decision is lost: the first one is sent by the second one, the second one by closing the page."""
    first, second = (_waiting(decided, f"Review {count}") for count in (3, 4))
    _focus(page, first)
    page.keyboard.press("a")
    _focus(page, second)
    page.keyboard.press("a")
    expect(_card(page, first)).to_have_count(0)
    page.goto("about:blank")
    wait_until(lambda: _status(decided.world, second) != "needs_review", 10, "the decision was lost")


def test_a_key_does_not_act_on_the_task_that_moves_into_the_place(decided: Served, page: Page) -> None:
    """The focused task is decided elsewhere: the next key approves nothing, and j continues from there."""
    task = _waiting(decided, "Review 5")
    _focus(page, task)
    decided.say(f"/tasks/{task}/approve", text="")
    expect(_card(page, task)).to_have_count(0)
    page.keyboard.press("a")
    expect(page.get_by_text("Select a task first")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    page.keyboard.press("j")
    expect(page.locator(".needs [data-task] a:focus")).to_have_count(1)


def test_a_decision_made_elsewhere_is_reported_and_not_repeated(decided: Served, page: Page) -> None:
    """While an approval is held, another person rejects the task: nothing is sent, and the page shows it."""
    task = _waiting(decided, "Review 6")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.clock.install()
    _focus(page, task)
    page.keyboard.press("a")
    decided.say(f"/tasks/{task}/reject", text="No")
    expect(page.get_by_text("was decided elsewhere")).to_be_visible()
    page.clock.fast_forward(6000)
    assert sent == []


def test_the_text_of_a_rejection_that_is_not_sent_is_a_draft(decided: Served, page: Page) -> None:
    """While it is held, another person rejects the task: the next review has both the reason and the text."""
    task = _waiting(decided, "Review 7")
    page.clock.install()
    _focus(page, task)
    page.keyboard.press("s")
    page.get_by_label("What to change").fill("Use a better name.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    decided.say(f"/tasks/{task}/reject", text="Say what it does.")
    expect(page.get_by_text("Your text is kept as a draft of its review")).to_be_visible()
    page.clock.fast_forward(6000)
    drafts = decided.get(f"/tasks/{task}/review")["drafts"]
    assert [one["text"] for one in drafts] == ["Use a better name."]
