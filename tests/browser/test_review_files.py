"""Files of many kinds on the review page, and where their comments are shown."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from browser_world import DESK, PHONE, Served
from hostile import put_in_place, talk
from skill_world import write_skill
from world import World, wait_until

pytestmark = pytest.mark.full

DONE = "<phase_complete>true</phase_complete>"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>\n'
DOCUMENT = "# Prices\n\n| item | price |\n|---|---|\n| hay | 3 |\n\n```py\nsell()\n```\n\n1. One\n2. Two\n"
BEFORE = {"notes.md": DOCUMENT, "logo.svg": SVG, "go.py": "def go():\n\tif 1:\n\t\treturn 2\n"}
AFTER = {
    "notes.md": DOCUMENT.replace("3 |", "4 |").replace("sell()", "buy()").replace("Two", "Last"),
    "logo.svg": SVG.replace("rect w", "rect rx='2' w"),
    "go.py": BEFORE["go.py"].replace("\tif 1", "    if 1"),
    " two  spaces.txt": "x\n",
    "a\nb.txt": "x\n",
}
expect.set_options(timeout=30_000)


def _reviewed(world: World, files: dict[str, str], text: str = "Done.") -> str:
    world.environ["OSTLER_GATES__DEFAULT"] = "human"
    put_in_place(world.agents / "claude", talk([], "opus", f"{text} {DONE}"), files)
    task = world.new("Change files")
    world.ostler("run", task, code=4)
    return task


def _file(page: Page, path: str) -> Locator:
    return page.locator(f'.file-diff[data-path="{path}"]')


def _waits_in_round(served: Served, task: str, number: int) -> bool:
    review = served.get(f"/tasks/{task}/review")
    return review["round"] == number and review["can"]["approve"]["allowed"]


def _suggested(served: Served, task: str) -> list[str | None]:
    return [draft["suggestion"] for draft in served.get(f"/tasks/{task}/review")["drafts"]]


def _left(node: Locator) -> float:
    box = node.bounding_box()
    assert box
    return box["x"]


def test_every_block_of_a_document_can_be_commented(world: World, serve: Callable[..., Served]) -> None:
    """Also a table and code, which scroll; with Shift, the lines of several blocks."""
    for name, text in BEFORE.items():
        (world.root / name).write_text(text)
    world.git("add", "-A")
    world.git("commit", "-qm", "Files")
    task = _reviewed(world, AFTER)
    page = serve("--view-only").open(f"/tasks/{task}/review")
    file = _file(page, "notes.md")
    file.get_by_role("button", name="Rendered").click()
    table, code = file.locator(".doc-unit:has(table)"), file.locator(".doc-unit:has(pre)")
    for unit in (table, code):
        unit.hover()
        expect(unit).to_have_attribute("data-changed", "true")
        assert _left(unit.locator(".doc-add")) < _left(unit)
    table.locator(".doc-add").click()
    expect(page.locator(".is-editor")).to_contain_text("Lines 3 to 5")
    code.hover()
    code.locator(".doc-add").click(modifiers=["Shift"])
    expect(page.locator(".is-editor")).to_have_count(1)
    expect(page.locator(".is-editor")).to_contain_text("Lines 3 to 9")
    page.keyboard.type("Is this the price of today?")
    page.keyboard.press("Control+Enter")
    expect(file.locator(".is-draft")).to_contain_text("Lines 3 to 9")


def test_what_cannot_be_seen_is_named(world: World, serve: Callable[..., Served]) -> None:
    """The text of a picture, a tab that became spaces, names of files, and the agent's summary."""
    for name, text in BEFORE.items():
        (world.root / name).write_text(text)
    world.git("add", "-A")
    world.git("commit", "-qm", "Files")
    task = _reviewed(world, AFTER, "Sells hay.\u202ereverse")
    page = serve("--view-only").open(f"/tasks/{task}/review")
    expect(page.locator(".review-rail")).to_contain_text("Sells hay.[U+202E]reverse")
    expect(page.locator(".tree-file .hidden-character")).to_have_text("[U+000A]")
    name = page.locator(".file-path .cut").first
    assert name.evaluate("(node) => [node.innerText, getComputedStyle(node).whiteSpace]") == [
        " two  spaces.txt",
        "pre",
    ]
    expect(_file(page, "go.py").locator(".tab-character")).to_have_text(["\t"])
    picture = _file(page, "logo.svg")
    expect(picture.locator("img")).to_have_count(2)
    picture.get_by_role("button", name="Source").click()
    expect(picture.locator(".code-line[data-kind=added]")).to_contain_text("<rect")
    picture.locator(".code-line[data-kind=added] .code-num").last.click()
    page.keyboard.type("Round corners.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".rail-card")).to_contain_text("logo.svg:1")
    page.reload()
    expect(picture.locator(".is-draft")).to_contain_text("Round corners.")
    for path in ("notes.md", "go.py"):
        page.locator(".tree-file", has_text=path).click()
        expect(page.locator(".tree-file[aria-current]")).to_contain_text(path)


def test_comments_of_a_review_are_found_from_what_changed_since(
    world: World, serve: Callable[..., Served]
) -> None:
    """One about a removed line is at its file; one about another file opens all changes."""
    (world.root / "go.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    world.git("add", "-A")
    world.git("commit", "-qm", "Files")
    first = {"go.py": "one = 1\nthree = 3\n", "other.py": "x = 1\n"}
    task = _reviewed(world, first)
    served = serve("--view-only")
    page = served.open(f"/tasks/{task}/review")
    removed = _file(page, "go.py").locator(".code-line[data-kind=removed] .code-num").first
    for number, text in ((removed, "Why?"), (_file(page, "other.py").locator(".code-num").first, "Name it.")):
        number.click()
        page.keyboard.type(text)
        if text == "Name it.":
            page.get_by_role("button", name="Suggest code").click()
        page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Merge without sending them")).to_be_visible()
    phone = served.another_page(f"/tasks/{task}/review", viewport=PHONE)
    expect(phone.get_by_role("button", name="Approve and merge")).to_be_visible()
    unedited = "lines that were not edited are no suggestion"
    wait_until(lambda: _suggested(served, task) == [None, None], 30, unedited)
    review = served.get(f"/tasks/{task}/review")
    served.say(f"/tasks/{task}/review", verdict="changes", commit=review["version"])
    put_in_place(world.agents / "claude", talk([], "opus", DONE), {"go.py": "# new\n" + first["go.py"]})
    world.ostler("run", task, code=4)
    page.reload()
    page.get_by_role("button", name="Since my review").click()
    file = _file(page, "go.py")
    expect(file.locator(".code-line[data-kind=added]")).to_have_count(1)
    expect(file.locator(".file-cards .is-earlier")).to_contain_text("You")
    page.locator(".rail-card", has_text="Name it.").click()
    expect(page.get_by_role("button", name="All changes")).to_have_attribute("aria-pressed", "true")
    expect(_file(page, "other.py").locator(".is-earlier")).to_be_in_viewport()


def test_comments_on_a_document_follow_it(world: World, serve: Callable[..., Served]) -> None:
    """They are beside its lines in the rounds after, also in the lines that changed since the review."""
    write_skill(world.root, "copy", "---\nname: copy\ndescription: writes\n---\nWrite.\n")
    world.environ["OSTLER_DOCUMENTS__EXECUTOR"] = "claude"
    first = "# Prices\n\nHay costs 3.\n\nStraw costs 2.\n\nOats cost 5.\n"
    put_in_place(world.agents / "claude", talk([], "opus", first), {})
    task = world.new("Prices", "--skill", "copy", "--review", "human", "--output", "docs/prices.md")
    world.ostler("run", task, code=4)
    served = serve("--view-only")
    page = served.open(f"/tasks/{task}/review")
    expect(page.locator(".doc-unit")).to_have_count(4)
    for key in ("j", "j", "j", "Shift+ArrowDown", "c"):
        page.keyboard.press(key)
    expect(page.locator(".doc-unit.is-picked")).to_have_text(["+Hay costs 3.", "+Straw costs 2."])
    page.keyboard.type("Per bale?")
    page.keyboard.press("Control+Enter")
    wait_until(lambda: served.get(f"/tasks/{task}/review")["drafts"], 30, "no draft")
    version = served.get(f"/tasks/{task}/review")["version"]
    served.say(f"/tasks/{task}/review", verdict="changes", commit=version)
    answer = first.replace("costs 2", "costs 2 per bale")
    put_in_place(world.agents / "claude", talk([], "opus", answer), {})
    world.ostler("run", task, code=4)
    page.reload()
    page.get_by_role("button", name="Since my review").click()
    expect(page.locator(".code-line[data-kind=added]")).to_have_text(re.compile("Straw costs 2 per bale"))
    expect(page.locator(".line-extra .is-earlier")).to_contain_text("Per bale?")
    page.locator(".code-line[data-kind=added] .code-num").last.click()
    page.keyboard.type("Better.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".line-extra .is-draft")).to_contain_text("Better.")
    wait_until(lambda: served.get(f"/tasks/{task}/review")["drafts"], 30, "no draft")
    assert served.get(f"/tasks/{task}/review")["drafts"][0]["place"]["side"] == "document"


@pytest.mark.parametrize("with_keys", [False, True], ids=["mouse", "keys"])
def test_a_decision_takes_few_clicks_or_keys(
    with_keys: bool, world: World, serve: Callable[..., Served]
) -> None:
    """docs/comparison.md has these numbers: from the inbox to work that is sent back, then to a merge."""
    task = _reviewed(world, {"plan.py": "import os\n"})
    served = serve()
    page = served.open("/inbox")
    done: list[str] = []

    def act(key: str, button: Locator) -> None:
        expect(button).to_be_visible()
        if with_keys:
            page.keyboard.press(key)
        else:
            button.click()
        done.append(key)

    first, opened = (
        page.locator("a", has_text="Change files").first,
        page.get_by_role("link", name="Open the review"),
    )
    expect(first).to_be_visible()
    if with_keys:
        act("j", first)
    act("Enter", opened)
    number = _file(page, "plan.py").locator(".code-num").first
    expect(number).to_be_visible()
    for key in ("j", "j", "c") if with_keys else ("c",):
        if with_keys:
            page.keyboard.press(key)
        else:
            number.click()
        done.append(key)
    expect(page.locator(".is-editor")).to_be_visible()
    page.keyboard.type("Why os?")
    act("Control+Enter", page.get_by_role("button", name="Add to review"))
    act("s", page.get_by_role("button", name="Send back with 1 comment"))
    assert len(done) == (7 if with_keys else 4)
    wait_until(lambda: _waits_in_round(served, task, 2), 60, "no second round")
    done.clear()
    page.goto(f"{served.origin}/inbox")
    expect(first).to_be_visible()
    if with_keys:
        act("j", first)
    act("Enter", opened)
    expect(page.locator(".code-line").first).to_be_visible()
    act("a", page.get_by_role("button", name="Approve and merge"))
    assert len(done) == (3 if with_keys else 2)
    wait_until(lambda: world.show(task)["status"] == "completed", 60, "it was not merged")
    assert world.git("log", "--oneline", "-1", "--", "plan.py")


def test_files_have_one_order_and_fit_a_window_that_becomes_narrow(
    world: World, serve: Callable[..., Served]
) -> None:
    """The changes have the order of the tree; two sides become one on a phone, and are two again after it."""
    (world.root / "sub").mkdir()
    (world.root / "sub" / "kept.txt").write_text("kept\n")
    world.git("add", "-A")
    world.git("commit", "-qm", "Files")
    spread = dict.fromkeys(("a.txt", "sub/b.txt", "z.txt"), "one\ntwo\n")
    task = _reviewed(world, spread)
    page = serve("--view-only").open(f"/tasks/{task}/review")
    expect(page.locator(".tree-file")).to_have_count(3)
    shown = page.locator("[data-path]").evaluate_all("(nodes) => nodes.map((node) => node.dataset.path)")
    assert list(dict.fromkeys(shown)) == ["a.txt", "z.txt", "sub/b.txt"]
    page.keyboard.press("u")
    review, rail = page.locator(".review"), page.locator(".review-rail")
    expect(review).to_have_attribute("data-layout", "split")
    page.set_viewport_size(PHONE)
    expect(review).to_have_attribute("data-layout", "unified")
    assert _left(rail) == 0, "the rail is below the changes"
    page.set_viewport_size(DESK)
    expect(review).to_have_attribute("data-layout", "split")
