"""Pipelines, models, machine and cost in a browser, each with real data of a project."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import cast

import pytest
from playwright.sync_api import ViewportSize, expect

from axe import find_violations
from browser_world import DESK, PHONE, Served
from limits_world import note_windows, window_use
from ostler.errors import Code
from ostler.model.limits.window import Window
from ostler.store.accounts.sqlite import open_accounts
from skill_world import write_skill
from world import World

pytestmark = pytest.mark.full

HOUR = 3600
PIPELINE = """
goal: Launch the hay
steps:
  - {id: research, skill: copywriting}
  - parallel:
      - {id: post, skill: copywriting}
      - {id: mail, skill: copywriting}
  - {id: summary, skill: copywriting}
"""
SCRIPT = "```ostler-script\n- run: touch free.txt\n- say: Done. <phase_complete>true</phase_complete>\n```"
LEFT = "(node) => node.getBoundingClientRect().left"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
expect.set_options(timeout=30_000)


@pytest.fixture
def launched(world: World) -> str:
    """A run of a pipeline whose documents the fake claude writes."""
    (world.root / "ostler.toml").write_text('documents.executor = "claude"\nbudget.day_usd = 0.001\n')
    write_skill(world.root)
    folder = world.root / ".agents" / "pipelines"
    folder.mkdir()
    (folder / "launch.yaml").write_text(PIPELINE)
    return str(world.json("pipeline", "run", "launch", "--later")["run"])


def test_a_pipeline_is_a_graph_that_lives(launched: str, serve: Callable[..., Served]) -> None:
    """From the list to the run, step by step to its end, and from a step to its task."""
    served = serve()
    page = served.open("/pipelines")
    page.locator(".run").click()
    expect(page.locator(".node")).to_have_count(4)
    expect(page.locator(".node[data-status=completed]")).to_have_count(4)
    expect(page.locator(".graph-lines path")).to_have_count(4)
    left = [page.locator(f"[data-key=node-{name}]").evaluate(LEFT) for name in ("research", "post", "mail")]
    assert left[0] < left[1] == left[2]
    page.locator("[data-key=node-mail]").click()
    expect(page.locator("main h1")).to_contain_text("Launch the hay")


def test_a_pipeline_is_started_from_the_page(launched: str, serve: Callable[..., Served]) -> None:
    """One click starts a second run and shows it; updates of a step do not change the focus."""
    served = serve("--view-only")
    page = served.open("/pipelines")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("main h1")).to_have_text(re.compile(r"^launch-\w{4}Pending$"))
    expect(page).not_to_have_url(re.compile(launched))
    page.locator("[data-key=node-mail]").focus()
    task = page.locator("[data-key=node-research]").get_attribute("href")
    served.say(f"{task}/pause")
    expect(page.locator(".node[data-status=paused]")).to_have_count(1)
    expect(page.locator("[data-key=node-mail]")).to_be_focused()


def test_the_forecast_is_on_the_board_and_with_the_models(world: World, serve: Callable[..., Served]) -> None:
    """It follows the tasks: after three past tasks the sentence has numbers, and the card a table."""
    for number in range(3):
        world.new(f"Past task {number}")
    world.ostler("run", "--all")
    served = serve("--view-only")
    page = served.open("/")
    expect(page.locator(".forecast")).to_be_hidden()
    world.new("Next")
    expect(page.locator(".forecast")).to_contain_text("1 task waits; if started now, done about ")
    expect(page.locator(".forecast")).not_to_contain_text("{done_at}")
    page = served.open("/models")
    card = page.get_by_role("region", name="Forecast")
    expect(card).to_contain_text("median of 3 past tasks")
    card.locator("summary").click()
    expect(card.locator("tbody tr")).to_have_count(1)


def test_a_limit_is_shown_with_its_end(world: World, serve: Callable[..., Served]) -> None:
    """The model has the reason and the end of the wait, and the remaining time counts down."""
    world.new()
    ledger = open_accounts(world.environ)
    now = time.time()
    ledger.close_window(Window("claude"), now + 3 * HOUR, Code.RATE_LIMITED, "the 5-hour limit is met", now)
    ledger.close()
    page = serve("--view-only").open("/models")
    expect(page.locator(".model .chip")).to_have_text("Limited")
    expect(page.locator(".model-why")).to_contain_text("RATE_LIMITED: the 5-hour limit is met")
    left = page.locator(".window-end [data-until]")
    before = left.text_content() or ""
    assert re.fullmatch(r"in (2:59|3:00) h", before)
    share = page.locator(".window-bar").evaluate("(bar) => bar.offsetWidth / bar.parentElement.offsetWidth")
    assert share == pytest.approx(3 / 24, abs=0.01)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_accounts_have_a_bar_for_each_window(
    world: World, serve: Callable[..., Served], size: dict[str, int]
) -> None:
    """Use, reset, source and age; the board has one line about what is nearly used, and links to them."""
    world.new()
    now = time.time()
    note_windows(
        world.environ,
        window_use("five_hour", 0.93, now, status="warning"),
        window_use("seven_day", 0.31, now, resets_in=99 * HOUR, source="file"),
    )
    served = serve("--view-only")
    served.page.set_viewport_size(cast("ViewportSize", size))
    page = served.open("/")
    line = page.locator(".limits-alert")
    expect(line).to_have_text(re.compile(r"^claude: five-hour 93 %, resets "))
    line.click()
    bars = page.locator(".limit")
    expect(bars).to_have_count(2)
    expect(bars.first).to_contain_text(re.compile(r"93 %warning, resets .+, in (1:59|2:00) h"))
    expect(bars.last).to_contain_text("session file, 3 min ago")
    shares = "(bars) => bars.map((bar) => bar.offsetWidth / bar.parentElement.offsetWidth)"
    assert page.locator(".limit .meter-fill").evaluate_all(shares) == pytest.approx([0.93, 0.31], abs=0.01)
    left = page.locator(".limit .meter-mark").first.evaluate("(mark) => mark.style.left")
    assert left == "95%"
    assert page.evaluate(WIDER) <= 0


def test_tasks_wait_for_an_account_at_stop_at(world: World, serve: Callable[..., Served]) -> None:
    """The board and the models name the account; below stop_at a task waits for a run."""
    world.new()
    now = time.time()
    note_windows(world.environ, window_use("five_hour", 0.96, now))
    served = serve("--view-only")
    page = served.open("/")
    why = page.locator(".tile-waiting .tile-foot")
    expect(why).to_contain_text("Waits for the reset of claude")
    page = served.open("/models")
    limits = page.get_by_label("Limits of the next 24 hours")
    expect(limits).to_contain_text("No new task starts on claude until ")
    note_windows(world.environ, window_use("five_hour", 0.5, now, age=0.0))
    page = served.open("/")
    expect(why).to_contain_text("No process runs tasks")


def test_the_machine_page_shows_running_attempts(world: World, serve: Callable[..., Served]) -> None:
    """Memory and its minimum, a used slot, the run, and the attempt with a link to its task."""
    world.behave(delay_seconds=60)
    task = world.new("Look at the machine")
    page = serve().open("/machine")
    expect(page.locator(".attempt a")).to_have_text(task)
    expect(page.locator(".attempt")).to_contain_text("MB")
    expect(page.locator(".slot[data-taken=true]")).to_have_count(1)
    expect(page.locator(".tile", has_text="Active runs").locator(".figure")).to_have_text("1")
    expect(page.locator(".tile", has_text="Memory")).to_contain_text("below 512 MB no attempt starts")
    page.locator(".attempt a").click()
    expect(page.locator("main h1")).to_contain_text("Look at the machine")


def test_cost_is_drawn_and_reported(world: World, serve: Callable[..., Served]) -> None:
    """The bar of today is reached with the keyboard, is in the table too, and marks unknown costs."""
    (world.root / "ostler.toml").write_text("budget.day_usd = 0.5\n")
    world.behave(cost_usd=0.25)
    world.new("Something dear")
    world.new("Something free", "--executor", "scripted", "-d", SCRIPT)
    world.ostler("run", "--all", code=None)
    page = serve("--view-only").open("/cost")
    expect(page.locator(".tile", has_text="Spent").locator(".figure")).to_have_text("$0.25")
    expect(page.locator(".tile", has_text="Day budget")).to_contain_text("of $0.50 today")
    expect(page.locator(".level text")).to_have_text("day budget $0.50")
    page.locator(".column").last.focus()
    printed = page.locator(".column").last.get_attribute("aria-label") or ""
    assert "$0.25 + 1 unknown" in printed
    expect(page.locator(".tip")).to_contain_text("unknown")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".column:focus")).to_have_attribute("aria-label", re.compile("nothing"))
    page.get_by_text("As a table").click()
    expect(page.locator(".as-table tbody tr")).to_have_count(1)
    page.locator(".segments label", has_text="Tokens").click()
    expect(page).to_have_url(re.compile("in=tokens"))


def test_a_phone_never_scrolls_sideways(launched: str, serve: Callable[..., Served]) -> None:
    """Every page fits into 390 pixels, and axe finds nothing, in both themes."""
    served = serve("--view-only")
    assert served.page.url
    for theme in ("light", "dark"):
        page = served.another_page("/", viewport=PHONE, color_scheme=theme, bypass_csp=True)
        for path in ("/pipelines", f"/pipelines/{launched}", "/models", "/machine", "/cost", "/settings"):
            page.goto(served.origin + path)
            expect(page.locator("main h1")).to_be_visible()
            page.wait_for_selector("main .card")
            assert (page.evaluate(WIDER), find_violations(page)) == (0, []), path
