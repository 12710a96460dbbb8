"""The review page in a browser: comments, a second round, approval, and what a person can lose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from browser_world import PHONE, Served
from hostile import put_in_place, talk
from payloads import armed
from world import World, wait_until

DONE = "<phase_complete>true</phase_complete>"
FIRST = r"printf 'import os\n\n\ndef plan(task):\n    return prepare(task)\n' > plan.py"
REPLIES = '{"replies": [{"comment": 1, "status": "changed", "text": "It `rehearses`."}]}'
expect.set_options(timeout=30_000)


@pytest.fixture(autouse=True)
def _scripted(world: World) -> None:
    world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
    world.environ["OSTLER_GATES__DEFAULT"] = "human"


def _task(world: World, title: str, *steps: str) -> str:
    script = "\n".join(f"- {step}" for step in steps)
    return world.new(title, "-d", f"```ostler-script\n{script}\n```\n")


def _reviewed(world: World, *steps: str, title: str = "Plan without a worktree") -> str:
    """A task that waits for a review."""
    task = _task(world, title, *steps, f"say: {json.dumps(f'Adds a plan. {DONE}')}")
    world.ostler("run", task, code=4)
    return task


def _number(page: Page, path: str, line: int) -> Locator:
    return page.locator(f'[data-path="{path}"] .code-num[data-side="new"][data-line="{line}"]').last


def _drag(page: Page, one: Locator, other: Locator) -> None:
    first, last = one.bounding_box(), other.bounding_box()
    assert first and last
    page.mouse.move(first["x"] + 5, first["y"] + 8)
    page.mouse.down()
    page.mouse.move(last["x"] + 5, last["y"] + 8, steps=4)
    page.mouse.up()


def _drafts(served: Served, task: str) -> list[dict[str, Any]]:
    return served.get(f"/tasks/{task}/review")["drafts"]


def test_work_goes_back_with_comments_and_is_approved_in_round_two(
    world: World, serve: Callable[..., Served]
) -> None:
    """A range gets a comment and a suggestion; round two shows the change and the answer."""
    del world.environ["OSTLER_RUN__EXECUTOR"]
    before = "import os\n\n\ndef plan(task):\n    return prepare(task)\n"
    agent = world.agents / "claude"
    put_in_place(agent, talk([], "opus", f"Adds a plan. {DONE}"), {"plan.py": before})
    task = world.new("Plan")
    world.ostler("run", task, code=4)
    after = before.replace("prepare(task)", "rehearse(task)  # no worktree")
    put_in_place(agent, talk([], "opus", f"{REPLIES} {DONE}"), {"plan.py": after})
    served = serve()
    page = served.open(f"/tasks/{task}")
    page.get_by_role("link", name="Review").first.click()
    expect(page.locator(".code-line")).to_have_count(5)
    _drag(page, _number(page, "plan.py", 4), _number(page, "plan.py", 5))
    expect(page.locator(".is-editor")).to_contain_text("Lines 4 to 5")
    page.keyboard.type("A plan must not create the worktree.")
    page.get_by_role("button", name="Suggest code").click()
    suggested = page.get_by_label("Lines to use instead")
    expect(suggested).to_have_value("def plan(task):\n    return prepare(task)")
    suggested.fill("def plan(task):\n    return rehearse(task)")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".is-draft .since")).to_contain_text("return rehearse(task)")
    page.keyboard.press("s")
    expect(page.locator(".toast")).to_contain_text("Sent back with 1 comment")
    expect(page.locator(".review-notice")).to_contain_text("has changed", timeout=60_000)
    page.get_by_role("button", name="Show the current work").click()
    card = page.locator(".is-earlier")
    expect(card.locator(".card-reply")).to_contain_text("It rehearses.")
    page.get_by_role("button", name="Since my review").click()
    expect(page.locator(".code-line[data-kind=added]")).to_have_count(1)
    card.get_by_role("button", name="Resolve").click()
    expect(card).to_have_attribute("data-resolved", "true")
    page.keyboard.press("a")
    expect(page.locator(".toast").last).to_contain_text("Approved")
    expect(page.get_by_role("button", name="Approve")).to_be_disabled()
    wait_until(lambda: world.show(task)["status"] == "completed", 60, "it was not approved")


@pytest.mark.full
def test_nothing_that_was_written_is_lost(world: World, serve: Callable[..., Served]) -> None:
    """A draft survives a closed tab; what is written while the server is down stays in the browser."""
    task = _reviewed(world, f"run: {json.dumps(FIRST)}")
    served = serve("--port", "0")
    served.complaints.allow("ERR_CONNECTION_REFUSED|Failed to load resource")
    page = served.open(f"/tasks/{task}/review")
    _number(page, "plan.py", 1).click()
    with page.expect_response(lambda answer: answer.url.endswith("/comments") and answer.ok):
        page.keyboard.type("Why os?")
    page.reload()
    expect(page.locator(".is-draft")).to_contain_text("Why os?")
    served.stop()
    page.get_by_label("Comment on the whole change").fill("While the server is down")
    expect(page.locator(".review-notice")).to_contain_text("is kept in this browser")
    kept = page.evaluate("() => Object.entries(localStorage).flat().join()")
    assert "While the server is down" in kept


@pytest.mark.full
def test_a_stale_tab_is_refused_and_keeps_its_comments(world: World, serve: Callable[..., Served]) -> None:
    """Two browsers: one approves, the other one's decision is refused with the server's sentence."""
    task = _reviewed(world, f"run: {json.dumps(FIRST)}")
    served = serve("--view-only")
    served.complaints.allow("409|ERR_FAILED")
    page = served.page
    page.route("**/stream*", lambda route: route.abort())
    served.open(f"/tasks/{task}/review")
    _number(page, "plan.py", 1).click()
    page.keyboard.type("Why os?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".is-draft")).to_be_visible()
    version = served.get(f"/tasks/{task}/review")["version"]
    other = served.another_page(f"/tasks/{task}/review")
    other.get_by_role("button", name="Send back").click()
    other.get_by_label("Comment on the whole change").fill("Not this way.")
    other.keyboard.press("Escape")
    served.say(f"/tasks/{task}/review", verdict="approve", commit=version)
    page.keyboard.press("s")
    expect(page.locator(".review-notice")).to_contain_text("cannot be decided about now")
    expect(page.locator(".is-draft")).to_contain_text("Why os?")


@pytest.mark.full
def test_a_tab_of_an_earlier_round_decides_about_what_it_shows(
    world: World, serve: Callable[..., Served]
) -> None:
    """Saving a draft there names newer work, which is not approved unseen; the draft follows its line."""
    del world.environ["OSTLER_RUN__EXECUTOR"]
    before = "import os\n\n\ndef plan(task):\n    return prepare(task)\n"
    put_in_place(world.agents / "claude", talk([], "opus", f"Adds a plan. {DONE}"), {"plan.py": before})
    task = world.new("Plan")
    world.ostler("run", task, code=4)
    served = serve("--view-only")
    served.complaints.allow("409|ERR_FAILED")
    page = served.page
    page.route("**/stream*", lambda route: route.abort())
    served.open(f"/tasks/{task}/review")
    _number(page, "plan.py", 5).click()
    page.keyboard.type("Which task?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".is-draft")).to_be_visible()
    wait_until(lambda: _drafts(served, task), 10, "the draft is not saved")
    world.ostler("reject", task, "-m", "Say what it does.")
    put_in_place(world.agents / "claude", talk([], "opus", DONE), {"plan.py": f'"""Plans."""\n\n{before}'})
    world.ostler("run", task, code=4)
    page.locator(".is-draft").get_by_role("button", name="Edit").click()
    page.keyboard.type(" And why?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".review-notice")).to_contain_text("The work has changed since")
    page.keyboard.press("a")
    expect(page.locator(".review-notice")).to_contain_text("has changed: it is at", timeout=30_000)
    assert world.show(task)["status"] == "needs_review"
    page.get_by_role("button", name="Show the current work").click()
    expect(page.locator(".code-line")).to_have_count(7)
    card = page.locator(".is-draft")
    expect(card).to_contain_text("And why?")
    above, line = card.bounding_box(), _number(page, "plan.py", 7).bounding_box()
    assert above and line and above["y"] >= line["y"] + line["height"] - 2, "the draft is below its line"
    page.keyboard.press("s")
    wait_until(lambda: served.get(f"/tasks/{task}/review")["round"] == 2, 30, "it was not sent")


CHECKED = {
    "OSTLER_GATES__COMMANDS__IMPLEMENT": "! grep -q broken plan.py",
    "OSTLER_GATES__PHASES__IMPLEMENT": "human",
    "OSTLER_PHASES__MAX_PHASE_RETRIES": "0",
}


@pytest.mark.full
def test_the_likely_decision_follows_the_verdict_of_the_gate(
    world: World, serve: Callable[..., Served]
) -> None:
    """Work whose gate failed is sent back from the keyboard; approving it is named, and not prominent."""
    world.environ |= CHECKED
    good = _reviewed(world, f"run: {json.dumps(FIRST)}")
    bad = _reviewed(world, "run: echo broken > plan.py", title="Broken")
    served = serve("--view-only")
    page = served.open(f"/tasks/{good}/review")
    expect(page.locator(".rail-verdicts")).to_have_text(re.compile("^✓ implement: pass on "))
    expect(page.locator(".decide.primary")).to_contain_text("Approve and merge")
    served.open(f"/tasks/{bad}/review")
    expect(page.locator(".rail-verdicts")).to_contain_text("implement: fail")
    expect(page.locator(".decide.primary")).to_contain_text("Send back")
    expect(page.get_by_role("button", name="Approve anyway and merge")).to_be_enabled()
    expect(page.locator(".code-line").first).to_be_visible()
    page.keyboard.press("s")
    whole = page.get_by_label("Comment on the whole change")
    expect(whole).to_be_focused()
    page.keyboard.type("Mend it.")
    page.keyboard.press("Escape")
    expect(whole).not_to_be_focused()
    whole.focus()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Sent back with 1 comment: Broken")).to_be_visible()
    wait_until(lambda: served.get(f"/tasks/{bad}/review")["round"] == 2, 30, "it was not sent")


@pytest.mark.full
def test_a_conflict_is_solved_from_the_review(world: World, serve: Callable[..., Served]) -> None:
    """It is named with its files, and the likely decision lets the agent solve it."""
    del world.environ["OSTLER_GATES__DEFAULT"]
    one, two = (
        _task(world, title, f"run: echo {title} > plan.py", f"say: {json.dumps(DONE)}")
        for title in ("ours", "theirs")
    )
    world.ostler("run", "--all")
    world.ostler("merge", one)
    world.ostler("merge", two, code=4)
    served = serve("--view-only")
    page = served.open(f"/tasks/{two}/review")
    expect(page.locator(".review-rail")).to_contain_text("Conflict with main")
    expect(page.locator(".rail-files")).to_contain_text("plan.py")
    expect(page.locator(".decide.primary")).to_contain_text("Let the agent solve it")
    expect(page.locator(".code-line").first).to_be_visible()
    page.keyboard.press("r")
    expect(page.get_by_text("Sent to the agent: theirs")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("Undone: Sent to the agent")).to_be_visible()
    expect(page.get_by_role("button", name="Let the agent solve it")).to_be_enabled()


PAYLOADS = 12
# CVE-2021-42574: it looks like a comment.
TROJAN = 'if access_level != "user\u202e \u2066# Check if admin\u2069 \u2066" {'


@pytest.mark.full
def test_texts_of_agents_and_people_are_only_text(world: World, serve: Callable[..., Served]) -> None:
    """Payloads in names of files, code, documents, comments, suggestions and the summary run nowhere."""
    texts = [text.replace("\0", "") for text in armed("http://127.0.0.1:9", "r")[:PAYLOADS]]
    names = {
        "<img src=x onerror=alert(1)>.py": texts,
        "a\"b'c.md": texts,
        "__proto__": ["constructor"],
        "\u202egnp.sh": [TROJAN],
    }
    writes = [
        f"run: {json.dumps(f'printf %s {_quoted(chr(10).join(lines))} > {_quoted(name)}')}"
        for name, lines in names.items()
    ]
    task = _reviewed(world, *writes, f"say: {json.dumps(' '.join(texts))}", title="<svg/onload=alert(1)>")
    served = serve("--view-only")
    page = served.open(f"/tasks/{task}/review")
    expect(page.locator(".file-head")).to_have_count(4)
    expect(page.locator(".file-head .hidden-character, .tree-file .hidden-character")).to_have_count(2)
    expect(page.locator(".code-text", has_text="access_level")).to_have_text(
        'if access_level != "user[U+202E] [U+2066]# Check if admin[U+2069] [U+2066]" {'
    )
    version = served.get(f"/tasks/{task}/review")["version"]
    for number, text in enumerate(texts):
        place = {"path": "a\"b'c.md", "side": "new", "line": number + 1, "end_line": number + 1}
        body = {"id": f"p{number}", "text": text, "suggestion": text, "place": place, "commit": version}
        served.say(f"/tasks/{task}/review/comments", **body)
    page.reload()
    expect(page.locator(".is-draft").first).to_be_visible()
    for key in ("u", "J", "J", "e"):
        page.keyboard.press(key)
    assert page.evaluate("() => window.__pwned") is None
    assert set(page.evaluate("() => [...document.links].map((link) => link.protocol)")) <= {"http:", "https:"}


@pytest.mark.full
def test_a_phone_has_a_bar_with_large_buttons(world: World, serve: Callable[..., Served]) -> None:
    """At 390 px the buttons are 44 px high, nothing is cut off, and the rail opens upward."""
    task = _reviewed(world, f"run: {json.dumps(FIRST)}")
    served = serve("--view-only")
    page = served.another_page(f"/tasks/{task}/review", viewport=PHONE, has_touch=True)
    expect(page.locator(".code-line").first).to_be_visible()
    for name in ("Approve", "Send back"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert box and box["height"] >= 44 and box["x"] + box["width"] <= 390
    expect(page.get_by_text("Adds a plan.")).to_be_hidden()
    page.get_by_role("button", name="Gates, summary and comments").click()
    expect(page.get_by_text("Adds a plan.")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    _number(page, "plan.py", 1)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
