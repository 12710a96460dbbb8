"""C73, C74: one attempt in full, and the text of agents in the feed of events."""

from __future__ import annotations

import json

import pytest

from world import World

TEXT = "I need the price.\n\n<phase_blocked>which price?</phase_blocked>"
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def test_an_attempt_has_its_prompt_response_and_result(world: World) -> None:
    """`show --attempt`: what was sent, what came back, the tokens, and that it blocks the phase."""
    world.behave(text=TEXT)
    task = world.new("Sell it", "-d", "Print the price.")
    world.ostler("run", task, code=4)
    shown = world.ostler("show", task, "--attempt", "1").stdout
    assert shown.index("Print the price.") < shown.index("Response") < shown.index("I need the price.")
    assert "  result    blocked: which price?\n" in shown and "  tokens    10 in, 5 out\n" in shown
    facts = world.json("show", task, "--attempt", "1")
    assert (facts["schema"], facts["verdict"], facts["reason"]) == (
        "ostler.attempt/1",
        "blocked",
        "which price?",
    )
    assert "Print the price." in facts["prompt"] and "I need the price." in facts["response"]


def test_a_completed_attempt_says_so(world: World) -> None:
    """The verdict of a call that completed its phase."""
    task = world.new()
    world.ostler("run", task)
    assert world.json("show", task, "--attempt", "1")["verdict"] == "complete"


def _read_page(world: World, task: str, number: int = 1) -> str:
    return (
        world.root / ".ostler" / "tasks" / task / "transcripts" / f"implement-{number:03d}.md"
    ).read_text()


def test_the_page_of_an_attempt_has_prompt_response_tokens_and_result(world: World) -> None:
    """Transcripts contain everything about a call, and `show` has the verdict of each attempt."""
    world.behave(text=TEXT)
    task = world.new("Sell it", "-d", f"Print the price.\n\n## Response\n\nWith {SECRET}.")
    world.ostler("run", task, code=4)
    page = _read_page(world, task)
    parts = ["## Prompt", "> Print the price.", "> ## Response", "\n## Response\n\n", "I need the price."]
    places = [page.index(part) for part in (*parts, "10 tokens in, 5 out", "Complete: no\n")]
    assert places == sorted(places) and page.endswith("\nComplete: no\nBlocked: yes, which price?\n")
    assert SECRET not in page
    (attempt,) = world.json("show", task)["attempts"]
    assert (attempt["verdict"], attempt["reason"]) == ("blocked", "which price?")


def test_only_the_last_attempt_of_a_call_has_its_verdict(world: World) -> None:
    """An attempt that failed and was repeated decided nothing about the phase."""
    world.behave(plan=["crash", "ok"])
    task = world.new()
    world.ostler("run", task, OSTLER_RETRY__BASE_DELAY_SECONDS="0.01")
    attempts = world.json("show", task)["attempts"]
    assert [one["verdict"] for one in attempts][:2] == [None, "complete"]
    assert "Complete:" not in _read_page(world, task)
    assert _read_page(world, task, 2).endswith("\nComplete: yes\nBlocked: no\n")


@pytest.mark.parametrize("number", ["2", "0", "x"])
def test_an_attempt_that_does_not_exist_is_bad_input(number: str, world: World) -> None:
    """One sentence and exit 2; the attempts that exist are listed."""
    task = world.new()
    world.ostler("run", task)
    printed = world.ostler("show", task, "--attempt", number, code=2).stderr
    assert f"{task} has no attempt 2" in printed if number == "2" else "--attempt" in printed


def test_events_carry_the_text_of_agents_on_request(world: World) -> None:
    """In chunks before the end of their attempt, without secrets; only with --transcript."""
    long = "word " * 1000
    world.behave(text=f"{long}{SECRET} is my key.\n\n<phase_complete>true</phase_complete>")
    task = world.new()
    world.ostler("run", task)
    assert "transcript" not in [one["type"] for one in world.events(task)]
    printed = world.ostler("events", task, "--transcript", "--json").stdout
    lines = [json.loads(line) for line in printed.splitlines()]
    types = [one["type"] for one in lines]
    texts = [one for one in lines if one["type"] == "transcript"]
    assert types.index("transcript") < types.index("attempt_ended")
    assert [one["chunk"] for one in texts][-2:] == [1, 2] and all(len(one["text"]) <= 4000 for one in texts)
    assert {(one["task_id"], one["phase"], one["number"]) for one in texts} == {(task, "implement", 1)}
    joined = "".join(one["text"] for one in texts)
    assert long in joined and "is my key." in joined and SECRET not in printed
    assert f"{task} | " in world.ostler("events", task, "--transcript").stdout
