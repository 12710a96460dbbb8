"""Texts of rejections that came too late: they are drafts, and reach the agent with the next review."""

from __future__ import annotations

import json

import pytest

from ostler.cli.watch.actions import hold_action, send_held
from ostler.cli.watch.handle_key import ActionRequest
from ostler.errors import UsageError
from review_world import WAITS, list_drafts, opened
from web_world import JSON, serve
from world import World

FIRST, SECOND = "Say what it does.", "Use a better name."


@pytest.fixture
def task(world: World) -> str:
    """A task that waits for a review."""
    world.environ |= WAITS
    made = world.new()
    world.ostler("run", made, code=4)
    return made


@pytest.mark.parametrize("command", [("reject",), ("review", "--send-back")], ids=["reject", "review"])
def test_the_second_rejection_of_a_round_is_kept_and_sent_in_the_next_one(
    world: World, task: str, command: tuple[str, ...]
) -> None:
    """The command names the draft; repeating it adds none, and the next review has the text."""
    world.ostler("reject", task, "-m", FIRST)
    for _ in range(2):
        refused = world.ostler(*command, task, "-m", SECOND, code=2).stderr
        assert f"your text is kept as a draft: ostler review {task} --show" in refused, refused
    assert list_drafts(world, task) == [SECOND]
    assert SECOND in world.ostler("review", task, "--show").stdout
    world.ostler("run", task, code=4)
    world.ostler("review", task, "--send-back")
    world.ostler("run", task, code=4)
    prompts = (world.root / ".ostler" / "tasks" / task / "prompts").glob("*.md")
    with_text = {path.name for path in prompts if SECOND in path.read_text()} - {"current-prompt.md"}
    assert len(with_text) == 1


def test_what_the_agent_has_and_what_nobody_decided_is_not_kept(world: World, task: str) -> None:
    """A repeated command adds no draft, and neither does one with the id of a task that is not reviewed."""
    world.ostler("reject", task, "-m", FIRST)
    assert "kept" not in world.ostler("reject", task, "-m", FIRST, code=2).stderr
    other = world.new("Another one")
    assert "kept" not in world.ostler("reject", other, "-m", SECOND, code=2).stderr
    assert list_drafts(world, task) == list_drafts(world, other) == []


def test_a_rejection_of_the_board_is_kept(world: World, task: str) -> None:
    """Its page is stale, or the decision was made while it was held; both texts are drafts."""
    server = serve(world, "--view-only")
    (item,) = [one for one in server.get("/inbox")["items"] if one["id"] == task]
    world.ostler("reject", task, "-m", FIRST)
    path = f"/api/v1/tasks/{task}/reject?waiting_since={item['waiting_since'].replace('+', '%2B')}"
    answer = server.ask("POST", path, json.dumps({"text": SECOND}).encode(), **JSON)
    assert answer.status == 409 and "kept as a draft" in answer.json["hint"], answer.json
    server.post(f"/tasks/{task}/review/comments", {"id": "held", "text": "And test it."})
    drafts = server.get(f"/tasks/{task}/review")["drafts"]
    assert {one["text"] for one in drafts} == {SECOND, "And test it."}


def test_a_rejection_of_the_screen_is_kept(world: World, task: str) -> None:
    """`watch` keeps a text that is refused when it is sent, and one that is refused when it is entered."""
    with opened(world) as project:
        request = ActionRequest("send back", task, SECOND)
        held = hold_action(project, request, 0.0, None)
        world.ostler("reject", task, "-m", FIRST)
        assert send_held(project, held).startswith("your text is kept as a draft; ")
        with pytest.raises(UsageError, match=r"^your text is kept as a draft; "):
            hold_action(project, ActionRequest("send back", task, "And test it."), 0.0, None)
    assert sorted(list_drafts(world, task)) == ["And test it.", SECOND]
