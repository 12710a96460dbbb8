"""Readers on a machine that does not have the files of a task, because another machine ran it."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from blob_world import KINDS_ON_DISK, read_settings
from journal_file import journal_path
from ostler.blobs.copies import FRESH_SECONDS, Copies
from ostler.blobs.opening import open_url
from ostler.model.ids import TaskId
from ostler.project.artifacts import task_folder
from ostler.store.sqlite.journal import SqliteJournal
from web_world import serve
from world import World, wait_until

# A line with the time of its output, twelve times in three seconds.
CLOCK = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do date +%s.%N; sleep 0.25; done"


@pytest.fixture(params=KINDS_ON_DISK)
def copies(request: pytest.FixtureRequest, world: World, tmp_path: Path) -> Copies:
    """What another machine reads from the store that the runs of this world use."""
    settings, account = read_settings(request.param, request, tmp_path)
    world.environ |= account
    world.environ |= {"OSTLER_BLOBS__URL": settings.url, "OSTLER_BLOBS__ENDPOINT": settings.endpoint}
    blobs = open_url(settings, account)
    blobs.put("first", b"")
    world.ostler("init")
    with SqliteJournal(journal_path(world.root)) as journal:
        return Copies(blobs, journal.store_id, tmp_path / "copies")


@pytest.fixture(autouse=True)
def no_open_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has lists of its own."""
    monkeypatch.setattr(task_folder, "_open_copies", {})


def lose_files(world: World, task: str) -> None:
    """Leave nothing of a task, as on a machine that has never run it."""
    shutil.rmtree((world.root / ".ostler/tasks" / task).resolve())


def read_all(world: World, task: str) -> dict[str, Any]:
    """Return what each command and route shows of the files."""
    return {
        "log": world.ostler("log", task).stdout,
        "json": world.ostler("log", task, "--json").stdout,
        "attempt": world.ostler("show", task, "--attempt", "1").stdout,
        "file": world.ostler("show", task, "--file", "prompts/implement-001.md").stdout,
        "raw": world.ostler("show", task, "--file", "transcripts/implement-001.jsonl").stdout,
        "tools": [span["name"] for span in world.json("show", task, "--timeline")["spans"]],
        "export": world.ostler("export", task, "--format", "atif").stdout,
        "events": world.ostler("events", task, "--transcript", "--json").stdout,
    }


@pytest.mark.full
def test_every_reader_finds_the_files_of_another_machine(world: World, copies: Copies) -> None:
    """Commands and pages show the same with and without the task's own directory."""
    task = world.new()
    world.ostler("run", task)
    before = read_all(world, task)
    listed = {one["path"] for one in world.json("show", task, "--files")["files"]}
    lose_files(world, task)
    assert read_all(world, task) == before
    found = {one["path"] for one in world.json("show", task, "--files")["files"]}
    assert found == listed - {"task.md", "state.yaml"}
    served = serve(world)
    log = served.get(f"/tasks/{task}/attempts/1/log")
    assert log["entries"][0]["type"] == "attempt_began"
    assert served.get(f"/tasks/{task}/attempts/1/prompt")["text"]
    assert served.ask("GET", f"/api/v1/tasks/{task}/attempts/1/raw").status == 200
    served.stop()


@pytest.mark.full
def test_a_running_output_is_seen_within_three_seconds(world: World, copies: Copies, tmp_path: Path) -> None:
    """While a step runs, each line of its output reaches the readers on other machines."""
    task = TaskId(world.new())
    child = world.start("run", task, OSTLER_GATES__COMMANDS=json.dumps({"implement": CLOCK}))
    log, ages = "gates/implement-1.log", list[float]()
    while child.poll() is None:
        path = copies.find(task, tmp_path / "nothing", ("gates/*.log",)) / log
        lines = path.read_text().splitlines() if path.exists() else []
        ages += [time.time() - float(line) for line in lines[len(ages) :]]
        time.sleep(0.1)
    assert len(ages) >= 6 and max(ages) < 3, ages
    wait_until(lambda: world.show(task)["status"] == "completed", 10, "the task does not end")


def test_a_purge_deletes_the_blobs_and_the_copies(world: World, copies: Copies) -> None:
    """Also on a machine that has never run the task; the blobs of other tasks stay."""
    task, other = world.new("One"), world.new("Two")
    world.ostler("run", "--all")
    lose_files(world, task)
    world.ostler("log", task)
    state = journal_path(world.root).parent
    assert (state / "copies" / task).exists()
    (planned,) = world.json("purge", task, "--dry-run")["tasks"]
    assert planned["uploaded_bytes"] > 500
    world.ostler("purge", task, "--yes")
    assert copies.list(TaskId(task)) == {} and copies.list(TaskId(other)) != {}
    assert not (state / "copies" / task).exists() and not (state / "tasks" / task).exists()
    world.ostler("run", other, code=None)  # a new run uploads nothing again
    assert copies._blobs.list(f"{copies._store_id}/tasks/{task}") == []


@pytest.mark.full
def test_a_purge_that_cannot_be_completed_is_not_forgotten(world: World, copies: Copies) -> None:
    """Without the store it is refused; one that was killed is completed by the next, also on this machine."""
    task = world.new()
    world.ostler("run", task)
    lose_files(world, task)
    away = {"OSTLER_BLOBS__URL": "s3://away", "OSTLER_BLOBS__ENDPOINT": "http://127.0.0.1:1"}
    account = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    done = world.ostler("purge", task, "--yes", code=1, **away, **account)
    assert "the blob store s3://away (http://127.0.0.1:1) cannot be used: Connection refused" in done.stderr
    assert world.show(task)["purged_at"] is None
    world.ostler("purge", task, "--yes", code=-9, OSTLER_FAILPOINT="dispose.branch:kill")
    assert copies.list(TaskId(task)) != {}
    world.ostler("purge", task, "--yes")
    time.sleep(FRESH_SECONDS)
    assert copies.list(TaskId(task)) == {}
