"""Reviews by programs: the methods of `Ostler`, and the tools of an MCP client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_world import talk, text_of, use
from ostler import Ostler, OstlerError, ReviewComment
from ostler.project.reviews.view import ReviewView
from review_world import WAITS, comment, list_texts, see
from world import World

pytestmark = pytest.mark.full


@pytest.fixture
def task(world: World) -> str:
    """A task that waits for a review."""
    world.environ |= WAITS
    made = world.new()
    world.ostler("run", made, code=4)
    return made


@pytest.mark.smoke
def test_a_program_reviews_and_approves(world: World, task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its comments and those of the dashboard are one bundle; stale work is refused, nothing is lost."""
    monkeypatch.setenv("OSTLER_GATES__PHASES__IMPLEMENT", "human")
    comment(world, task, "c1", text="From the dashboard.")
    wrong = ReviewComment(path="fake-agent.txt", line=99, text="Nowhere.")
    given = ReviewComment(path="fake-agent.txt", line=1, text="Longer.", suggestion="a longer line")

    async def first() -> ReviewView:
        async with Ostler.open(world.root) as ostler:
            shown = await ostler.review(task)
            with pytest.raises(OstlerError, match="sent back is not published"):
                await ostler.send_review(task, "changes", text="No.", then="merge")
            with pytest.raises(OstlerError, match="no line 99"):
                await ostler.send_review(task, "changes", comments=[given, wrong])
            assert len((await ostler.review(task)).drafts) == 2
            return await ostler.send_review(task, "changes", comments=[given], version=shown.version)

    sent = asyncio.run(first())
    assert list_texts(world, task) == [["From the dashboard.", "Longer."]] and not sent.drafts
    world.ostler("run", task, code=4)

    async def second() -> None:
        async with Ostler.open(world.root) as ostler:
            with pytest.raises(OstlerError, match="has changed: it is at"):
                await ostler.send_review(task, "approve", version=sent.version)
            await ostler.send_review(task, "approve", text="Good.", then="merge")

    asyncio.run(second())
    world.ostler("run", task)
    assert world.show(task)["published_into"] == "main"


def test_an_mcp_client_reviews(world: World, task: str) -> None:
    """Its comments are drafts of the person, marked as those of a client, as is the decision."""

    async def conversation(client: Client) -> dict[str, Any]:
        shown = await use(client, "review", id=task, patch=True)
        assert (shown["schema"], shown["round"], len(shown["drafts"])) == ("ostler.review/1", 1, 1)
        assert [one["path"] for one in shown["files"]] == ["fake-agent.txt"]
        assert "+++ b/fake-agent.txt" in shown["patch"] and not shown["truncated"]
        place = {"id": task, "version": shown["version"], "path": "fake-agent.txt", "line": 1}
        for _ in range(2):
            saved = await use(client, "comment", **place, text="Why?", kind="question")
        assert [(one["text"], one["via"]) for one in saved["drafts"]] == [("Mine.", ""), ("Why?", "mcp")]
        empty = await client.call_tool("comment", place)
        assert empty.is_error and "the comment is empty" in text_of(empty)
        stale = await client.call_tool("comment", place | {"version": "a" * 40, "text": "Late."})
        assert stale.is_error and "has changed" in text_of(stale)
        assert "Next: read the review again; the comment is not saved" in text_of(stale)
        nowhere = await client.call_tool("comment", place | {"path": "", "text": "Where?"})
        assert nowhere.is_error and "lines without a file" in text_of(nowhere)
        return await use(client, "send_review", id=task, version=shown["version"], verdict="changes")

    comment(world, task, "c1", text="Mine.")
    sent = talk(world, conversation)
    assert sent["status"] == "revision"
    (review,) = see(world, task).reviews
    assert [(one.text, one.via) for one in review.comments] == [("Mine.", ""), ("Why?", "mcp")]
    assert review.via == "mcp"
    (decided,) = [one for one in world.events(task) if one["type"] == "decision_recorded"]
    assert decided["by"] == f"{review.by} through MCP"
    world.ostler("run", task, code=4)

    async def again(client: Client) -> dict[str, Any]:
        shown = await use(client, "review", id=task, since=1)
        assert shown["reviews"][0]["comments"][1]["text"] == "Why?"
        late = await client.call_tool(
            "send_review", {"id": task, "version": review.commit, "verdict": "approve"}
        )
        assert late.is_error and "has changed" in text_of(late)
        return await use(client, "send_review", id=task, version=shown["version"], verdict="approve")

    assert not talk(world, again)["can"]["send_back"]["allowed"]


def test_a_draft_that_the_person_edits_is_the_persons_own(world: World, task: str) -> None:
    """The mark of the client is removed with the change."""

    async def conversation(client: Client) -> dict[str, Any]:
        version = (await use(client, "review", id=task))["version"]
        return await use(client, "comment", id=task, version=version, text="A draft.")

    (saved,) = talk(world, conversation)["drafts"]
    comment(world, task, saved["id"], place={}, text="My words.")
    assert [(one.text, one.via) for one in see(world, task).drafts] == [("My words.", "")]


@pytest.mark.smoke
def test_a_program_reviews_a_document(world: World) -> None:
    """Its comment has the lines of the document; one that is sent after a new version keeps its place."""
    world.behave(text="# Hay\n\nIt is dry.\nIt is old.\n")
    made = world.new("Hay", "--output", "docs/hay.md", "--review", "human", "--executor", "claude")
    world.ostler("run", made, code=4)

    async def review(version: str, line: int, **values: Any) -> ReviewView:
        async with Ostler.open(world.root) as ostler:
            given = [ReviewComment(path="docs/hay.md", line=line, **values)]
            return await ostler.send_review(made, "changes", comments=given, version=version)

    sent = asyncio.run(review(see(world, made).version, 3, text="How dry?", kind="question"))
    (asked,) = sent.reviews[0].comments
    assert (asked.place.side, asked.excerpt, asked.before) == ("document", ("It is dry.",), ("# Hay", ""))
    world.behave(text="# Hay\n\nNew.\nIt is dry.\nIt is old.\n")
    world.ostler("run", made, code=4)
    view = see(world, made)
    (found,) = view.reviews[0].comments
    assert found.now is not None and (found.now.line, found.state) == (4, "unchanged")
    prompt = world.root / f".ostler/tasks/{made}/prompts"
    assert "> How dry?" in sorted(prompt.glob("*-002.md"))[0].read_text()
    with pytest.raises(OstlerError, match="no line 9"):
        asyncio.run(review(view.version, 9, text="Nowhere."))


def test_a_program_reviews_work_without_git(tmp_path: Path) -> None:
    """There is no version of the files: comments have a place and no lines, and reach the agent."""
    world = World(tmp_path, git=False)
    world.environ |= WAITS
    made = world.new()
    world.ostler("run", made, code=4)

    async def review() -> ReviewView:
        async with Ostler.open(world.root) as ostler:
            given = [ReviewComment(path="fake-agent.txt", line=1, text="Longer.")]
            return await ostler.send_review(made, "changes", comments=given)

    sent = asyncio.run(review())
    assert [(one.text, one.excerpt) for one in sent.reviews[0].comments] == [("Longer.", ())]
    world.ostler("run", made, code=4)
    prompt = (world.root / f".ostler/tasks/{made}/prompts/implement-002.md").read_text()
    assert "### 1. Change: fake-agent.txt, line 1\n\n> Longer." in prompt
    assert [one.state for one in see(world, made).reviews[0].comments] == ["unknown"]
    world.close()
