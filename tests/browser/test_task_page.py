"""The page of a task in a browser: the output of an agent is shown as it arrives, at any position."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Response, expect

from browser_world import Served
from slow_agent import put_slow_agent
from world import World

pytestmark = pytest.mark.full

LAST_STEP = 12
HISTORY_BYTES = 200_000_000
SHOWS_DONE = "say: All is well. <phase_complete>true</phase_complete>"
STEPS = [f"tool: {{name: Step, detail: number {count}}}\n- sleep: 0.1" for count in range(1, LAST_STEP + 1)]
ENTRIES = "(of) => [...document.querySelectorAll(`${of} .entry`)].map((one) => one.id + one.textContent)"
AT_END = """() => {
  const pane = document.querySelector(".transcript");
  return pane.scrollHeight - pane.clientHeight - pane.scrollTop < 2;
}"""
expect.set_options(timeout=30_000)


@pytest.fixture(autouse=True)
def _scripted(world: World) -> None:
    world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"


def _task(world: World, steps: list[str]) -> str:
    # A task that changes no file is not completed.
    script = "\n".join(f"- {step}" for step in ("run: echo walked > walked.txt", *steps))
    return world.new("Walk on", "-d", f"```ostler-script\n{script}\n```\n")


def _done(world: World, steps: list[str]) -> str:
    """A task that was run to its end."""
    task = _task(world, steps)
    world.ostler("run", task)
    return task


def _lengthen(world: World, task: str) -> None:
    """Extend the log of its only attempt to 200 MB."""
    log = world.root / ".ostler" / "tasks" / task / "transcripts" / "implement-001.log.ndjson"
    first = log.read_bytes().splitlines(keepends=True)[0]
    at = int(json.loads(first)["at"])
    printed = [
        {"at": at, "type": "text_received", "text": f"word {count} " + "x" * 400} for count in range(2000)
    ]
    block = b"".join(json.dumps(entry).encode() + b"\n" for entry in printed)
    with log.open("wb") as file:
        file.write(first)
        for _ in range(HISTORY_BYTES // len(block) + 1):
            file.write(block)
        file.write(
            json.dumps({"at": at, "type": "text_received", "text": "the very last word"}).encode() + b"\n"
        )


def test_the_transcript_of_a_live_task_streams(world: World, serve: Callable[..., Served]) -> None:
    """New tools appear at the end, which stays visible, until the task is completed."""
    reported = world.root.parent / "go-on"
    waits = f"run: until test -e {reported}; do sleep 0.05; done"
    task = _task(world, [STEPS[0], waits, *STEPS[1:], SHOWS_DONE])
    page = serve().open(f"/tasks/{task}")
    expect(page.locator(".tool-detail", has_text="number 1").first).to_be_visible()
    expect(page.locator(".follow")).to_have_attribute("aria-pressed", "true")
    reported.touch()
    expect(page.locator(".tool-detail", has_text=f"number {LAST_STEP}")).to_be_visible()
    expect(page.locator(".entry-end", has_text="Succeeded")).to_be_visible()
    expect(page.locator(".task-head .chip")).to_have_text("Completed")
    assert page.locator(".tool-name", has_text="Step").count() == LAST_STEP
    assert page.evaluate(AT_END)


def test_the_rail_shows_what_the_agent_does_and_then_the_decision(
    world: World, serve: Callable[..., Served]
) -> None:
    """Action, todo list, tokens, budget; verbs and folded thoughts; then a merge by a key."""
    del world.environ["OSTLER_RUN__EXECUTOR"]
    go_on = world.root.parent / "go-on"
    put_slow_agent(world.agents / "claude", go_on)
    task = world.new("Rework the parser", "--budget-usd", "2")
    page = serve().open(f"/tasks/{task}")
    live = page.locator(".live")
    expect(live.locator(".live-activity")).to_have_text("Write parser.py")
    expect(live.locator(".todos li")).to_have_text(
        ["✓Read the parser, done", "●Write the tests, in progress", "○Change the parser, open"]
    )
    expect(live.locator(".live-figures")).to_contain_text("Tokens11k")  # claude reports them while it works
    expect(live.locator(".live-budget")).to_contain_text("left of $2.00")
    rows = page.request.get(page.url.replace(f"/tasks/{task}", "/api/v1/tasks")).json()["tasks"]
    assert rows[0]["cost_usd"] > 0  # on the board, too
    expect(page.locator(".tool summary")).to_have_text(
        [
            "Plan0 of 3 done: Read the parser",
            "ReadREADME.md",
            "Searchparse\\(",
            "Plan1 of 3 done: Write the tests",
            "Runpytest -q testsfailed",
            "Writeparser.py",
        ]
    )
    expect(page.locator(".entry-fold")).not_to_have_attribute("open", "")
    expect(page.locator(".entry-fold summary")).to_contain_text("The parser has two entry points.")
    page.keyboard.press("r")
    page.keyboard.type("Also split by commas.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".attempt-choice option")).to_have_count(2)
    page.locator(".attempt-prompt summary").click()
    expect(page.locator(".attempt-prompt pre")).to_contain_text("Also split by commas.")
    go_on.touch()
    expect(page.locator(".task-head .chip")).to_have_text("Completed")
    expect(live).to_be_hidden()
    expect(page.locator(".rail-section", has_text="summary")).to_contain_text("The parser splits words.")
    page.wait_for_timeout(1000)  # an event of the end that arrives later takes the decision back
    page.keyboard.press("m")
    expect(page.locator(".toast", has_text="To be merged").first).to_be_visible()
    expect(page.locator(".rail-note")).to_contain_text("Its work is in main")
    assert "split" in world.git("show", "main:parser.py")


def test_a_search_and_a_step_lead_to_their_place_in_any_attempt(
    world: World, serve: Callable[..., Served]
) -> None:
    """A text of the first attempt is found from the second one; steps have kinds, and a click opens one."""
    world.environ["OSTLER_GATES__DEFAULT"] = "human"
    del world.environ["OSTLER_RUN__EXECUTOR"]
    go_on = world.root.parent / "go-on"
    go_on.touch()
    put_slow_agent(world.agents / "claude", go_on)
    task = world.new("Rework the parser")
    world.ostler("run", task, code=4)
    world.ostler("reject", task, "-m", "Split by commas.")
    world.ostler("run", task, code=4)
    page = serve("--view-only").open(f"/tasks/{task}")
    expect(page.locator(".attempt-choice")).to_have_value("2")
    page.keyboard.press("/")
    page.keyboard.type("two entry")
    results = page.locator(".rail-places .place")
    expect(results).to_have_count(2)
    expect(results.first.locator("mark")).to_have_text("two entry")
    page.keyboard.press("Enter")
    expect(page.locator(".attempt-choice")).to_have_value("1")
    expect(page.locator(".is-pointed")).to_contain_text("Thinking")
    page.keyboard.press("Enter")
    expect(page.locator(".attempt-choice")).to_have_value("2")
    page.keyboard.press("Escape")
    expect(page.locator(".find-field")).to_have_value("")
    expect(page.get_by_role("button", name="Results")).to_be_hidden()
    page.get_by_role("button", name="Steps").click()
    kinds = page.locator(".step-kinds button")
    expect(kinds).to_have_text(["All4", "Edits2", "Commands0", "Tests2", "Failed2", "Questions0"])
    kinds.nth(4).click()
    expect(page.locator(".step")).to_have_count(2)
    page.locator(".step").first.click()
    expect(page.locator(".attempt-choice")).to_have_value("1")
    expect(page.locator(".is-pointed .tool[open]")).to_contain_text("Runpytest -q tests")


def test_an_attempt_has_its_prompt_and_its_result(world: World, serve: Callable[..., Served]) -> None:
    """Above the transcript what was sent, below it whether the phase is complete or blocked."""
    task = _task(world, [STEPS[0], "say: <phase_blocked>which price?</phase_blocked>"])
    world.ostler("run", task, code=4)
    page = serve("--view-only").open(f"/tasks/{task}")
    expect(page.locator(".attempt-verdict")).to_have_text("Result Blocked · which price?")
    prompt = page.locator(".attempt-prompt")
    prompt.locator("summary").click()
    expect(prompt.locator("pre")).to_contain_text("# Walk on")
    expect(prompt.locator("pre")).to_be_visible()


def test_a_long_log_opens_at_its_end_and_anywhere(world: World, serve: Callable[..., Served]) -> None:
    """Of 200 MB only a few pages are read and shown, at the tail, in the middle and at an anchor."""
    task = _done(world, [SHOWS_DONE])
    _lengthen(world, task)
    served = serve("--view-only")
    read: list[int] = []
    served.page.on("response", lambda response: _weigh(response, read))
    page = served.open(f"/tasks/{task}")
    expect(page.locator(".entry", has_text="the very last word")).to_be_visible()
    _jump(page, 500)
    expect(page.locator(".place")).to_have_text("100 MB of 200 MB")
    page.hover(".transcript")
    for _ in range(8):
        page.mouse.wheel(0, 4000)
        page.wait_for_timeout(30)
    page.goto("about:blank")
    page.goto(f"{served.origin}/tasks/{task}#a1-150000000")
    expect(page.locator(".is-pointed")).to_be_in_viewport()
    assert 150_000_000 <= int(page.locator(".is-pointed").get_attribute("data-offset") or 0) < 150_001_000
    assert page.locator(".log-page").count() <= 6
    assert 0 < sum(read) < 4_000_000


def test_a_gate_is_answered_on_the_page(world: World, serve: Callable[..., Served]) -> None:
    """A rejection asks for its reason and sends the work back with it; then one key approves."""
    world.environ["OSTLER_GATES__DEFAULT"] = "human"
    task = _task(world, [SHOWS_DONE])
    page = serve().open(f"/tasks/{task}")
    box = page.locator(".rail-decision")
    expect(box.locator("[data-verb=approve]")).to_be_visible()
    page.keyboard.press("s")
    expect(box.locator("textarea")).to_be_focused()
    page.keyboard.type("Say hello, too.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".attempt-choice option")).to_have_count(2)
    expect(box.locator("[data-verb=approve]")).to_be_enabled()
    page.keyboard.press("a")
    expect(page.locator(".task-head .chip")).to_have_text("Completed")
    printed = [(event["verb"], event.get("text")) for event in world.events(task) if "verb" in event]
    assert [verb for verb, _ in printed] == ["reject", "approve"]
    assert str(printed[0][1]).endswith(": Say hello, too.")


def test_a_replay_shows_what_the_transcript_has(world: World, serve: Callable[..., Served]) -> None:
    """At a hundred times the speed the same entries appear in the same order."""
    edit = "edit: {path: a.txt, content: hello}"
    task = _done(world, ["say: I **begin**.", *STEPS[:4], edit, SHOWS_DONE])
    page = serve("--view-only").open(f"/tasks/{task}")
    expect(page.locator(".entry-end")).to_be_visible()
    reported = page.evaluate(ENTRIES, ".transcript-room")
    page.click("#tab-replay")
    playing = page.locator(".play")
    expect(playing).to_be_visible()
    for state in ("true", "false"):  # the space bar, also on the tab and on a speed
        page.keyboard.press(" ")
        expect(playing).to_have_attribute("data-playing", state)
        page.click("[data-speed='1']")
    page.click("[data-speed='100']")
    page.locator(".replay .scrubber").evaluate(
        "(one) => { one.value = 0; one.dispatchEvent(new Event('input')); }"
    )
    assert len(page.evaluate(ENTRIES, ".replay-list")) < len(reported)
    page.click(".play")
    expect(page.locator(".play")).to_contain_text("Play again")
    assert page.evaluate(ENTRIES, ".replay-list") == reported


def _weigh(response: Response, read: list[int]) -> None:
    if "/log" in response.url:
        read.append(int(response.headers["content-length"]))


def _jump(page: Page, part: int) -> None:
    scrubber = page.locator(".scrubber")
    scrubber.evaluate(f"(one) => {{ one.value = {part}; one.dispatchEvent(new Event('change')); }}")


def test_the_record_of_a_gate_and_the_preflight_are_shown(world: World, serve: Callable[..., Served]) -> None:
    """Command, isolation, control and guarded files; below them what a run lacks, with file and line."""
    world.git("branch", "release")
    (world.root / "ostler.toml").write_text(
        '[git]\non_complete = "merge"\ntarget = "release"\n'
        '[gates.commands]\nimplement = "true"\ndocs = "no-such-program"\n[gates.phases]\ndocs = "skip"\n'
    )
    task = _task(world, ["run: echo x > .mcp.json", SHOWS_DONE])
    world.ostler("run", task, code=4)
    page = serve("--view-only").open(f"/tasks/{task}?tab=gates")
    gate = page.locator(".gate", has=page.get_by_role("heading", name="implement"))
    for text in ("Commandtrue", "Isolation", "Controlnot run (switched off)"):
        expect(gate).to_contain_text(text)
    expect(page.locator(".gate", has_text="Only a person approves")).to_contain_text(".mcp.json")
    expect(page.locator("#panel-gates section", has_text="Preflight")).to_contain_text("ostler.toml:6")


def test_a_dialog_is_sent_from_its_choice_by_ctrl_and_enter(
    world: World, serve: Callable[..., Served]
) -> None:
    """The menu has the rare actions; Ctrl+Enter sends the form while the phase is focused."""
    task = _done(world, [SHOWS_DONE])
    page = serve("--view-only").open(f"/tasks/{task}")
    expect(page.locator(".task-head .chip")).to_have_text("Completed")
    page.keyboard.press(".")
    page.locator(".task-menu [data-verb=rewind]").click()
    page.locator("dialog select").focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".task-head .chip")).not_to_have_text("Completed")
    assert world.show(task)["status"] == "pending"


def test_warnings_are_shown_with_their_explanation(world: World, serve: Callable[..., Served]) -> None:
    """In the header, and only if there are any."""
    warned, plain = _done(world, STEPS[:1]), _done(world, [SHOWS_DONE])
    served = serve("--view-only")
    shown = served.open(f"/tasks/{warned}").locator(".task-warnings li")
    expect(shown).to_have_text("NO_MARK: the agent changed files but did not report completion")
    page = served.open(f"/tasks/{plain}")
    expect(page.locator(".task-head .chip")).to_have_text("Completed")
    expect(page.locator(".task-warnings")).to_be_hidden()
