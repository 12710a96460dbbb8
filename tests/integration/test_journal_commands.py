"""ostler journal backup, check and rebuild."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from journal_file import journal_path
from world import World, wait_until


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A completed task, one that waits for a review, a cancelled one, and one that was never started."""
    made = World(tmp_path_factory.mktemp("journal"))
    first = made.new("First")
    made.ostler("run", first)
    second = made.new("Second", "--after", first)
    made.ostler("run", second, code=4, OSTLER_GATES__PHASES__IMPLEMENT="human")
    made.ostler("cancel", made.new("Cancelled"))
    made.new("Waiting", "--after", second)
    yield made
    made.close()


@pytest.fixture
def made(template: World, tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, git=False)
    shutil.copytree(template.root, world.root, dirs_exist_ok=True, symlinks=True)
    world.ostler("status")
    yield world
    world.close()


def tasks(world: World) -> dict[str, dict[str, Any]]:
    return {task["title"]: task for task in world.json("status")["tasks"]}


def delete(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def check(world: World, code: int) -> list[dict[str, str]]:
    return json.loads(world.ostler("journal", "check", "--json", code=code).stdout)["findings"]


class TestCheck:
    def test_correct(self, made: World) -> None:
        """Exit 0 with the number of tasks and records."""
        done = made.ostler("journal", "check")
        assert f"The journal {journal_path(made.root)} is correct: 4 tasks" in done.stdout
        assert check(made, 0) == []

    def test_damaged_page(self, made: World) -> None:
        path = journal_path(made.root)
        content = bytearray(path.read_bytes())
        content[4096 * 3 :] = b"\x55" * (len(content) - 4096 * 3)
        path.write_bytes(content)
        assert "file" in {one["kind"] for one in check(made, 3)}

    def test_record_that_is_missing(self, made: World) -> None:
        """A task whose records do not lead to its stored state is named."""
        task = tasks(made)["First"]["id"]
        db = apsw.Connection(str(journal_path(made.root)))
        db.execute("DELETE FROM feed WHERE task = ? AND seq > 3", (task,))
        db.close()
        [found] = check(made, 3)
        assert found["kind"] == "records" and task in found["message"]
        assert found["next_step"] == "ostler journal rebuild"

    def test_files_without_a_task_and_the_reverse(self, made: World) -> None:
        folder = made.root / ".ostler" / "tasks"
        task = tasks(made)["First"]["id"]
        (folder / task).rename(folder / "unknown-0000")
        found = check(made, 3)
        assert [one["kind"] for one in found] == ["files", "files"]
        assert "unknown-0000 belongs to no task" in found[0]["message"]
        assert f"the files of {task} are missing" in found[1]["message"]

    def test_journal_of_another_directory(self, made: World) -> None:
        """A copy that was not opened yet still has the identity of the original."""
        copy = made.root.with_name("copy")
        shutil.copytree(made.root, copy, symlinks=True)
        made.root = copy
        [found] = check(made, 3)
        assert found["kind"] == "identity"
        made.ostler("status")
        assert check(made, 0) == []

    def test_lost(self, made: World) -> None:
        delete(journal_path(made.root))
        assert "does not exist" in made.ostler("journal", "check", code=3).stdout


class TestBackup:
    def test_default_and_named(self, made: World, tmp_path: Path) -> None:
        """Private copies, which are complete journals; an existing file is not replaced."""
        beside = Path(json.loads(made.ostler("journal", "backup", "--json").stdout)["path"])
        assert beside.parent == journal_path(made.root).parent / "backups"
        named = tmp_path / "copy.db"
        done = made.ostler("journal", "backup", str(named))
        assert f"Copied the journal to {named}." in done.stdout
        for path in (beside, named):
            assert path.stat().st_mode & 0o777 == 0o600
            db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            assert list(db.execute("PRAGMA integrity_check")) == [("ok",)]
            assert list(db.execute("SELECT count(*) FROM task")) == [(4,)]
            db.close()
        assert "exists already" in made.ostler("journal", "backup", str(named), code=2).stderr
        assert "no directory" in made.ostler("journal", "backup", str(tmp_path / "no" / "x"), code=2).stderr

    @pytest.mark.full
    def test_while_a_task_runs(self, world: World, tmp_path: Path) -> None:
        """The copy is sound, a rebuild is refused, and the run completes."""
        world.behave(delay_seconds=1.0)
        world.new()
        run = world.start("run", "--all")
        wait_until(world.started, 30, "the agent did not start")
        world.ostler("journal", "backup", str(tmp_path / "copy.db"))
        refused = world.ostler("journal", "rebuild", code=3)
        assert "cannot be rebuilt while another process uses it" in refused.stderr
        assert run.wait(60) == 0
        db = apsw.Connection(str(tmp_path / "copy.db"))
        assert list(db.execute("PRAGMA integrity_check")) == [("ok",)]
        assert list(db.execute("SELECT status FROM task")) == [("in_progress",)]
        db.close()

    def test_restored(self, made: World, tmp_path: Path) -> None:
        """The newer journal is kept, and tasks that the backup lacks are added from their files."""
        before = tasks(made)
        made.ostler("journal", "backup", str(tmp_path / "copy.db"))
        later = made.new("Later")
        done = made.ostler("journal", "rebuild", "--from", str(tmp_path / "copy.db"))
        assert f"The old journal is kept as {journal_path(made.root)}.lost." in done.stdout
        assert f"{later}  pending" in done.stdout
        after = tasks(made)
        assert after.pop("Later")["id"] == later
        assert after == before
        assert check(made, 0) == []
        db = apsw.Connection(f"{journal_path(made.root)}.lost")
        assert list(db.execute("SELECT count(*) FROM task")) == [(5,)]
        db.close()

    def test_backup_of_another_project(self, made: World, tmp_path: Path) -> None:
        """It is refused unless a flag allows it."""
        other = World(tmp_path / "other")
        other.new("Foreign")
        copy = str(tmp_path / "copy.db")
        other.ostler("journal", "backup", copy)
        before = tasks(made)
        for lost in (False, True):
            if lost:
                delete(journal_path(made.root))
            refused = made.ostler("journal", "rebuild", "--from", copy, code=2).stderr
            assert f"is the journal of another project ({other.root})" in refused
        made.ostler("journal", "rebuild", "--from", copy, "--other-project")
        assert {*tasks(made)} == {*before, "Foreign"}
        other.close()

    def test_backup_that_is_no_journal(self, made: World, tmp_path: Path) -> None:
        """The journal is unchanged."""
        before = tasks(made)
        (tmp_path / "bad.db").write_bytes(b"x" * 9000)
        made.ostler("journal", "rebuild", "--from", str(tmp_path / "bad.db"), code=2)
        made.ostler("journal", "rebuild", "--from", str(tmp_path / "missing.db"), code=2)
        assert tasks(made) == before


class TestRebuild:
    def test_nothing_to_do(self, made: World) -> None:
        before = tasks(made)
        assert "nothing was changed" in made.ostler("journal", "rebuild").stdout
        assert tasks(made) == before

    @pytest.mark.full
    def test_from_the_files(self, made: World) -> None:
        """Ended tasks stay ended with their commits and attempts, a started one is paused, none is lost."""
        before = tasks(made)
        ids = {title: task["id"] for title, task in before.items()}
        delete(journal_path(made.root))
        done = made.ostler("journal", "rebuild")
        assert "from the files of the tasks" in done.stdout and "Not in the files" in done.stderr
        after = tasks(made)
        assert {title: task["id"] for title, task in after.items()} == ids
        assert {title: task["status"] for title, task in after.items()} == {
            "First": "completed",
            "Second": "paused",
            "Cancelled": "cancelled",
            "Waiting": "pending",
        }
        for name in ("commit", "branch", "base", "usage", "cost_usd"):
            assert after["First"][name] == before["First"][name], name
        [attempt] = made.show(ids["First"])["attempts"]
        assert (attempt["status"], attempt["number"]) == ("succeeded", 1)
        assert check(made, 0) == []
        made.ostler("resume", ids["Second"])
        made.ostler("run", "--all")
        assert [tasks(made)[title]["status"] for title in ("Second", "Waiting")] == ["completed"] * 2
        assert len(list((made.root / ".ostler/tasks" / ids["Second"] / "transcripts").glob("*.jsonl"))) == 2

    def test_unreadable_file_is_named(self, made: World) -> None:
        """The others are rebuilt, and the file is kept."""
        task = tasks(made)["Cancelled"]["id"]
        file = made.root / ".ostler" / "tasks" / task / "task.md"
        file.write_text("---\ntitle: [\n---\n")
        delete(journal_path(made.root))
        done = made.ostler("journal", "rebuild", code=1)
        assert f"not rebuilt: {task}: " in done.stderr
        assert len(tasks(made)) == 3
        assert file.exists()

    def test_damaged_journal_is_kept(self, made: World) -> None:
        """Also its log, which would be applied to the new file."""
        path = journal_path(made.root)
        content = b"x" * path.stat().st_size
        path.write_bytes(content)
        path.with_name("ostler.db-wal").write_bytes(b"log")
        assert "ostler journal rebuild" in made.ostler("status", code=2).stderr
        made.ostler("journal", "rebuild")
        assert len(tasks(made)) == 4
        assert path.with_name("ostler.db.lost").read_bytes() == content
        assert path.with_name("ostler.db.lost-wal").read_bytes() == b"log"

    def test_tasks_without_a_record(self, made: World) -> None:
        """A sound journal is completed: an older version restored a backup without them."""
        task = tasks(made)["Waiting"]["id"]
        db = apsw.Connection(str(journal_path(made.root)))
        db.execute("DELETE FROM feed WHERE task = ?", (task,))
        db.execute("DELETE FROM task WHERE id = ?", (task,))
        db.close()
        assert f"{task}  pending" in made.ostler("journal", "rebuild").stdout
        assert tasks(made)["Waiting"]["id"] == task
        assert "nothing was changed" in made.ostler("journal", "rebuild").stdout

    @pytest.mark.full
    def test_two_at_once(self, made: World) -> None:
        """One rebuilds the journal, and the other one finds it complete."""
        before = {*tasks(made)}
        delete(journal_path(made.root))
        runs = [made.start("journal", "rebuild") for _ in range(2)]
        assert [run.wait(60) for run in runs] == [0, 0]
        assert {*tasks(made)} == before
        assert not list(journal_path(made.root).parent.glob("rebuilt*"))

    @pytest.mark.full
    def test_killed_before_it_is_complete(self, made: World, tmp_path: Path) -> None:
        """There is a journal at every moment; here it is the one that was to be replaced."""
        made.ostler("journal", "backup", str(tmp_path / "copy.db"))
        made.new("Later")
        before = tasks(made)
        killed = {"OSTLER_FAILPOINT": "rebuild.kept:kill"}
        made.ostler("journal", "rebuild", "--from", str(tmp_path / "copy.db"), code=-9, **killed)
        assert tasks(made) == before
        assert "nothing was changed" in made.ostler("journal", "rebuild").stdout

    def test_replaced_journal_is_used_while_it_is_up_to_date(self, made: World) -> None:
        """An older version left it without a successor; after later work, the files are used instead."""
        journal, before = journal_path(made.root), tasks(made)
        journal.rename(f"{journal}.lost")
        assert "ostler journal rebuild" in made.ostler("status", code=3).stderr
        assert f"from {journal}.lost" in made.ostler("journal", "rebuild").stdout
        assert tasks(made) == before
        made.ostler("cancel", before["Waiting"]["id"])
        journal.unlink()
        assert "from the files of the tasks" in made.ostler("journal", "rebuild").stdout
        assert tasks(made)["Waiting"]["status"] == "cancelled"

    def test_inside_a_task(self, made: World) -> None:
        """An agent can check the journal, and can neither copy nor replace it."""
        task = tasks(made)["First"]["id"]
        environ = {"OSTLER_TASK": task, "OSTLER_ATTEMPT": "x:y:1", "OSTLER_PROJECT": str(made.root)}
        for command in ("backup", "rebuild"):
            assert "ostler" in made.ostler("journal", command, code=2, **environ).stderr
        made.ostler("journal", "check", **environ)
