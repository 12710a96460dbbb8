"""The board in a browser: running tasks are shown, a gate is answered, a reload and a phone lose nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from browser_world import Served
from world import World

pytestmark = pytest.mark.full

NARROW = {"width": 360, "height": 740}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
expect.set_options(timeout=30_000)
AT_WORK = ["tool: {name: Read, detail: shoes/slug.py}", "sleep: 100"]


@pytest.fixture(autouse=True)
def _scripted(world: World) -> None:
    world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"


def _task(world: World, title: str, steps: list[str]) -> str:
    script = "\n".join(f"- {step}" for step in steps)
    return world.new(title, "-d", f"```ostler-script\n{script}\n```\n")


def _lane(group: str) -> str:
    return f".lane[data-group={group}] [data-task]"


def _steps(first: int, end: int) -> list[str]:
    return [f"tool: {{name: Step, detail: number {count}}}" for count in range(first, end)]


def test_three_tasks_are_seen_at_work(world: World, serve: Callable[..., Served]) -> None:
    """Three tasks run in parallel, each on a card with its last action, and a fourth one waits."""
    for count in range(1, 5):
        _task(world, f"Shoe number {count}", AT_WORK)
    page = serve("-j", "3").page
    expect(page.locator(_lane("running"))).to_have_count(3)
    expect(page.locator(f"{_lane('running')} .activity", has_text="Read shoes/slug.py")).to_have_count(3)
    expect(page.locator(_lane("waiting"))).to_have_count(1)


def test_a_gate_is_approved_with_the_keyboard(world: World, serve: Callable[..., Served]) -> None:
    """A task that needs an approval is in the tab's title and on top; two keys approve it."""
    world.environ["OSTLER_GATES__DEFAULT"] = "human"
    task = _task(world, "Ask before you merge", ["say: Done. <phase_complete>true</phase_complete>"])
    page = serve().page
    expect(page.locator(f".needs [data-task='{task}']")).to_be_visible()
    expect(page).to_have_title("1 needs you · Ostler")
    page.keyboard.press("j")
    page.keyboard.press("a")
    expect(page.locator(f".lane[data-group=done] [data-task='{task}']")).to_be_visible()
    expect(page).to_have_title("Ostler")
    assert world.show(task)["status"] == "completed"


def test_a_reload_in_mid_stream_loses_nothing(world: World, serve: Callable[..., Served]) -> None:
    """After a reload the earlier actions are shown, and a reload during the work shows all later ones."""
    go = world.root.parent / "go"
    wait = f"run: until [ -e {go} ]; do sleep 0.05; done"
    _task(world, "Walk on", [*_steps(1, 6), wait, *_steps(6, 20), "sleep: 100"])
    page = serve().page
    lines = page.locator(f"{_lane('running')} .activity li")
    expect(lines).to_have_count(3)  # actions from before the page was opened are requested separately
    expect(lines.last).to_contain_text("until")
    before = lines.all_text_contents()
    assert [text.split()[-1] for text in before[:2]] == ["4", "5"]
    page.reload()
    expect(lines).to_have_text(before)
    go.touch()
    page.reload()
    expect(lines).to_have_text([f"Step number {count}" for count in (17, 18, 19)])


def test_a_phone_never_scrolls_sideways(world: World, serve: Callable[..., Served]) -> None:
    """Board, list and the dialog for a new task fit 360 pixels, with words that are longer than that."""
    _task(
        world,
        "A-title-without-any-place-to-break-" + "x" * 150,
        [f"tool: {{name: Read, detail: {'y' * 300}}}", "sleep: 100"],
    )
    served = serve()
    expect(served.page.locator(_lane("running"))).to_have_count(1)
    for path in ("/", "/?view=list"):
        page = served.another_page(path, viewport=NARROW, has_touch=True)
        expect(page.locator("[data-task]").first).to_be_visible()
        assert page.evaluate(WIDER) == 0
        page.get_by_role("button", name="New task").click()
        expect(page.get_by_label("Title")).to_be_focused()
        assert page.evaluate(WIDER) == 0


def test_the_board_shows_why_nothing_runs(world: World, serve: Callable[..., Served]) -> None:
    """Without the agent a task waits, and the page shows the next step."""
    world.environ |= {"OSTLER_RUN__EXECUTOR": "claude", "OSTLER_CLAUDE_PATH": str(world.root / "missing")}
    world.new("Greet")
    page = serve().page
    expect(page.locator(_lane("waiting"))).to_have_count(1)
    expect(page.locator(".run-problem")).to_contain_text("was not found")
