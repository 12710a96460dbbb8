"""Reviews of tasks that are purged, archived, backed up, rebuilt, copied to a server and exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers.postgres import PostgresServer

from journal_file import journal_path
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.project.reviews.drafts import mark_resolved, mark_viewed
from postgres_world import new_address
from review_world import comment, list_drafts, list_texts, new_reviewed, opened, see, send
from world import World

BACKUP = pytest.mark.one_machine("in a cluster the tools of PostgreSQL back the journal up")
TABLES = ("review", "review_draft", "review_resolved", "review_viewed")


def mark(world: World, task: str) -> None:
    """Resolve the comment of the first review, and view a file."""
    with opened(world) as project:
        mark_viewed(project, TaskId(task), "fake-agent.txt", "a" * 40, viewed=True)
        mark_resolved(project, TaskId(task), "c1", resolved=True)


def count_rows(world: World) -> dict[str, int]:
    return {name: world.query(f"SELECT count(*) FROM {name}")[0][0] for name in TABLES}


def judged_refs(world: World, task: str) -> list[str]:
    return world.git("for-each-ref", "--format=%(refname)", f"refs/ostler/reviews/{task}").split()


def test_a_purge_deletes_reviews_and_keeps_who_decided(world: World) -> None:
    """Drafts, texts, marks and commits are deleted; the history still has each decision."""
    task = new_reviewed(world)
    comment(world, task, "c2")
    mark(world, task)
    assert count_rows(world) == dict.fromkeys(TABLES, 1) and judged_refs(world, task)
    world.ostler("cancel", task)
    assert list_drafts(world, task) == ["Comment c2."], "a cancelled task can be retried"
    world.ostler("purge", task, "--yes")
    assert count_rows(world) == dict.fromkeys(TABLES, 0) and not judged_refs(world, task)
    assert [one["review"] for one in world.events(task) if one.get("review")] == [1]
    assert see(world, task).can.approve.reason == "it is cancelled"
    with pytest.raises(UsageError, match="was purged at"):
        mark(world, task)


def test_a_killed_purge_of_reviews_is_completed(world: World) -> None:
    """Killed after its record: the next purge deletes the reviews too."""
    task = new_reviewed(world)
    comment(world, task, "c2")
    world.ostler("cancel", task)
    world.ostler("purge", task, "--yes", code=-9, OSTLER_FAILPOINT="dispose.recorded:kill:1")
    assert count_rows(world)["review"] == 1
    world.ostler("purge", "--yes", "--older-than", "0d")
    assert count_rows(world) == dict.fromkeys(TABLES, 0)


@pytest.mark.full
def test_an_archived_task_keeps_its_review(world: World) -> None:
    """It can be read, and sending it back lists the task again."""
    task = new_reviewed(world)
    send(world, task, "approve", then="")
    world.ostler("run", task)
    comment(world, task, "c2")
    world.ostler("archive", task)
    assert (list_texts(world, task), list_drafts(world, task)) == ([["Comment c1."], []], ["Comment c2."])
    assert send(world, task) == 3
    assert world.show(task)["archived_at"] is None
    world.ostler("run", task, code=4)
    assert list_texts(world, task)[2] == ["Comment c2."]


@pytest.mark.full
@BACKUP
def test_reviews_are_in_a_backup(world: World, tmp_path: Path) -> None:
    """With drafts and marks; a review that was sent after the backup is added from its file."""
    task = new_reviewed(world)
    comment(world, task, "c2")
    mark(world, task)
    world.ostler("journal", "backup", str(tmp_path / "copy.db"))
    send(world, task)
    world.ostler("run", task, code=4)
    comment(world, task, "c3")
    world.ostler("journal", "rebuild", "--from", str(tmp_path / "copy.db"))
    assert list_texts(world, task) == [["Comment c1."], ["Comment c2."]]
    assert list_drafts(world, task) == [], "c2 was sent, c3 is newer than the backup"
    assert see(world, task).reviews[0].comments[0].resolved
    assert count_rows(world)["review_viewed"] == 1


@pytest.mark.full
@BACKUP
def test_a_lost_journal_is_rebuilt_with_its_reviews(world: World) -> None:
    """Sent reviews come from their files, with their commits; the next one has the next number."""
    task = new_reviewed(world)
    before = see(world, task).reviews
    journal_path(world.root).unlink()
    world.ostler("journal", "rebuild")
    after = see(world, task).reviews
    assert [one.commit for one in after] == [one.commit for one in before] != [None]
    assert list_texts(world, task) == [["Comment c1."]]
    world.ostler("resume", task)
    world.ostler("run", task, code=4)
    comment(world, task, "c2")
    assert send(world, task) == 2
    world.ostler("run", task, code=4)
    assert list_texts(world, task) == [["Comment c1."], ["Comment c2."]]


@pytest.mark.full
@BACKUP
def test_the_round_after_a_lost_review_is_the_next_one(world: World) -> None:
    """A page sends the round that it shows, also when the file of an earlier review is lost."""
    task = new_reviewed(world)
    comment(world, task, "c2")
    assert send(world, task) == 2
    world.ostler("run", task, code=4)
    journal_path(world.root).unlink()
    (world.root / ".ostler" / "tasks" / task / "reviews" / "1.json").unlink()
    world.ostler("journal", "rebuild")
    shown = see(world, task)
    assert (len(shown.reviews), shown.round) == (1, 3)


@pytest.mark.full
@pytest.mark.one_machine("in a cluster the journal is on a server")
def test_a_project_moves_to_a_server_with_its_reviews(world: World, postgres_server: PostgresServer) -> None:
    """`store copy` brings drafts, reviews and marks along; the review continues there."""
    task = new_reviewed(world)
    comment(world, task, "c2")
    mark(world, task)
    before = see(world, task)
    schema = new_address(postgres_server).schema
    settings = f'[store]\nurl = "{postgres_server.url()}"\nschema = "{schema}"\n'
    (world.root / "ostler.toml").write_text(settings)
    world.ostler("store", "copy")
    assert see(world, task) == before
    send(world, task)
    world.ostler("run", task, code=4)
    assert list_texts(world, task) == [["Comment c1."], ["Comment c2."]]
    send(world, task, "approve", then="")
    world.ostler("run", task)
    world.ostler("purge", task, "--yes")
    for table in TABLES:
        assert postgres_server.execute(f"SELECT count(*) FROM {schema}.{table}") == [(0,)], table


def test_an_export_has_the_reviews(world: World) -> None:
    """Sent ones with their comments, lines and commit; drafts are not exported."""
    task = new_reviewed(world)
    comment(world, task, "c2")
    lines = [json.loads(line) for line in world.ostler("export", task).stdout.splitlines()]
    (found,) = [line["review"] for line in lines if line["kind"] == "review"]
    assert (found["number"], found["verdict"], len(found["commit"])) == (1, "changes", 40)
    assert [one["text"] for one in found["comments"]] == ["Comment c1."]
    assert found["comments"][0]["excerpt"], "the lines of the comment"
    assert lines[-1]["lines"] == len(lines)
