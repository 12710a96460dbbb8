"""The state survives git clean and git stash, moves with the project, and is not shared with a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from journal_file import journal_path
from ostler.project.registry.known_projects import KnownProjects
from world import World, wait_until


def complete_one(world: World, title: str = "Add a greeting") -> str:
    task = world.new(title)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    return task


def store_id(root: Path) -> str:
    db = apsw.Connection(str(journal_path(root)))
    found = next(iter(db.execute("SELECT store_id FROM identity")))[0]
    db.close()
    return found


@pytest.mark.parametrize(
    "args", [("clean", "-fdx"), pytest.param(("clean", "-ffdx"), marks=pytest.mark.full)]
)
def test_git_clean_deletes_no_result(world: World, args: tuple[str, ...]) -> None:
    """Journal, transcripts and the kept work survive; a failed task runs again in a new worktree."""
    done = complete_one(world)
    world.behave(fault="a18_exit")
    failed = world.new("Fail")
    world.ostler("run", failed, code=1, OSTLER_RETRY__MAX_RETRIES="0")
    world.behave()
    assert "ostler" in world.git("clean", "-ndx"), "git would delete the view"
    world.git(*args)
    assert [task["status"] for task in world.json("status")["tasks"]] == ["completed", "failed"]
    assert world.ostler("log", done).stdout
    world.ostler("retry", failed)
    world.ostler("run", failed)
    assert world.show(failed)["status"] == "completed"
    page = world.root / ".ostler" / "tasks" / done / "task.md"
    assert page.is_file(), "the readable view is made again"
    assert world.git("status", "--porcelain") == "", "and it is ignored"


@pytest.mark.full
def test_git_clean_during_a_run(world: World) -> None:
    """The running task completes: its worktree is a repository of its own, which git does not delete."""
    world.behave(delay_seconds=1.0)
    task = world.new()
    run = world.start("run", task)
    wait_until(world.started, 30, "the agent did not start")
    world.git("clean", "-fdx")
    assert run.wait(60) == 0
    assert world.show(task)["status"] == "completed"


def test_git_stash_all(world: World) -> None:
    """After the stash everything is readable; a read changes nothing, so that the stash can be popped."""
    task = complete_one(world)
    (world.root / "notes.txt").write_text("mine\n")
    world.git("stash", "--all")
    assert not (world.root / ".ostler" / "tasks").exists()
    assert world.show(task)["status"] == "completed"
    assert world.ostler("log", task).stdout
    world.git("stash", "pop")
    assert (world.root / "notes.txt").read_text() == "mine\n"
    assert (world.root / ".ostler" / "tasks" / task / "task.md").is_file()


@pytest.mark.full
def test_moved_project(world: World) -> None:
    """With its worktrees: a task that waits continues at the new place, under the same id."""
    task = world.new()
    world.environ["OSTLER_GATES__PHASES__IMPLEMENT"] = "human"
    world.ostler("run", task, code=4)
    before = store_id(world.root)
    moved = world.root.with_name("moved")
    world.root.rename(moved)
    world.root = moved
    view = world.show(task)
    assert view["worktree"] == str(moved / ".ostler" / "worktrees" / task)
    assert world.ostler("diff", task).stdout
    world.ostler("reject", task, "-m", "once more")
    world.ostler("run", task, code=4)
    world.ostler("approve", task)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert store_id(moved) == before
    assert not world.root.with_name("project").exists()


@pytest.mark.full
def test_copied_project(world: World) -> None:
    """The copy has a new id and works in its own worktrees; the original stays as it is."""
    world.environ["OSTLER_GATES__PHASES__IMPLEMENT"] = "human"
    task = world.new()
    world.ostler("run", task, code=4)
    original, copy = world.root, world.root.with_name("copy")
    before = store_id(original)
    files = snapshot(original)
    subprocess.run(["cp", "-a", str(original), str(copy)], check=True)
    world.root = copy
    assert "this project is a copy of another one" in world.ostler("status").stderr
    assert "copy" not in world.ostler("status").stderr
    assert store_id(copy) not in ("", before)
    assert (copy / ".ostler" / "tasks").resolve() == copy / ".git" / "ostler" / "tasks"
    world.ostler("reject", task, "-m", "once more")
    world.ostler("run", task, code=4)
    world.ostler("approve", task)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert snapshot(original) == files, "nothing of the original has changed"
    world.root = original
    assert store_id(original) == before
    assert world.show(task)["status"] == "needs_review"
    world.ostler("approve", task)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


@pytest.mark.full
def test_copy_of_a_project_that_was_moved(world: World) -> None:
    """`cp -a p q; mv p r`: nothing is left in the recorded directory, and only the copy has a new id."""
    world.new()
    before, copy, moved = store_id(world.root), world.root.with_name("q"), world.root.with_name("r")
    subprocess.run(["cp", "-a", str(world.root), str(copy)], check=True)
    world.root.rename(moved)
    for root in (copy, moved):
        world.root = root
        world.ostler("status")
    assert store_id(moved) == before != store_id(copy)
    world.ostler("status")
    assert store_id(moved) == before


@pytest.mark.full
def test_same_journal_in_another_file_keeps_its_id(tmp_path: Path) -> None:
    """After `git init`, which moves the journal, and after a rebuild from a backup."""
    world = World(tmp_path, git=False)
    world.new()
    before = store_id(world.root)
    world.git("init", "-q")
    world.ostler("status")
    assert (world.root / ".git" / "ostler" / "ostler.db").exists()
    assert store_id(world.root) == before
    world.ostler("journal", "backup", str(tmp_path / "copy.db"))
    world.ostler("journal", "rebuild", "--from", str(tmp_path / "copy.db"))
    world.ostler("status")
    assert store_id(world.root) == before
    world.close()


def test_cancelled_copy_keeps_the_worktree_of_the_original(world: World) -> None:
    """The journal has the path of the original's worktree; the copy removes its own."""
    world.environ["OSTLER_GATES__PHASES__IMPLEMENT"] = "human"
    task = world.new()
    world.ostler("run", task, code=4)
    copy, place = world.root.with_name("copy"), Path(".ostler", "worktrees", task)
    shutil.copytree(world.root, copy, symlinks=True)
    original, world.root = world.root, copy
    world.ostler("cancel", task, OSTLER_GIT__CLEANUP_ON_FAIL="true")
    assert (original / place / ".git").is_file()
    assert not (copy / place).exists()
    world.root = original
    assert world.show(task)["status"] == "needs_review"


def snapshot(root: Path) -> dict[str, bytes]:
    """Return the files of a project, without those that SQLite changes when it reads."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in files
        if not path.name.startswith("ostler.db") and path.name != "index"
    }


@pytest.mark.full
def test_copy_of_a_running_project_leaves_its_agent_alone(world: World) -> None:
    """A run in the copy resumes the copied task and does not stop the agent of the original."""
    world.behave(delay_seconds=4.0)
    task = world.new()
    run = world.start("run", task)
    wait_until(world.started, 30, "the agent did not start")
    copy = world.root.with_name("copy")
    subprocess.run(["cp", "-a", str(world.root), str(copy)], check=True)
    world.behave()
    original, world.root = world.root, copy
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert run.poll() is None, "the original is still running"
    world.root = original
    assert run.wait(60) == 0
    assert world.show(task)["status"] == "completed"
    assert [one["status"] for one in world.show(task)["attempts"]] == ["succeeded"]


@pytest.mark.full
def test_clones_and_linked_work_trees_are_apart(world: World, tmp_path: Path) -> None:
    """A clone has no tasks of the original; a linked work tree neither, and each runs its own."""
    complete_one(world)
    original = world.root
    world.git("worktree", "add", "-q", str(tmp_path / "linked"))
    subprocess.run(["git", "clone", "-q", str(original), str(tmp_path / "clone")], check=True)
    places = {}
    for name in ("linked", "clone"):
        world.root = tmp_path / name
        world.ostler("status", code=2)
        complete_one(world, f"Only {name}")
        assert len(world.json("status")["tasks"]) == 1
        places[name] = journal_path(world.root)
    world.root = original
    assert len(world.json("status")["tasks"]) == 1
    assert len({journal_path(original), *places.values()}) == 3


def test_linked_work_tree_removed(world: World, tmp_path: Path) -> None:
    """Its tasks are there again when it is added again."""
    original, place = world.root, tmp_path / "linked"
    world.git("worktree", "add", "-q", "-b", "side", str(place))
    world.root = place
    task = world.new()
    world.root = original
    world.git("worktree", "remove", "--force", str(place))
    world.git("worktree", "add", "-q", str(place), "side")
    world.root = place
    assert world.show(task)["status"] == "pending"


@pytest.mark.full
def test_project_in_a_renamed_subdirectory(world: World) -> None:
    """The state gets the new name; a copy of the directory does not get the state of the original."""
    repository = world.root
    world.root = repository / "sub"
    world.root.mkdir()
    (world.root / "ostler.toml").write_text("")
    world.git("add", "-A")
    world.git("commit", "-qm", "sub")
    task = world.new()
    shutil.copytree(world.root, repository / "copy", symlinks=True)
    world.root = repository / "copy"
    assert world.json("status")["tasks"] == []
    world.root = repository
    world.git("mv", "sub", "sub2")
    world.root = repository / "sub2"
    assert "renamed the state" in world.ostler("status").stderr
    assert world.show(task)["status"] == "pending"
    assert (world.root / ".ostler" / "tasks" / task / "task.md").is_file()
    world.ostler("journal", "check")


@pytest.mark.full
def test_projects_in_subdirectories_are_apart(world: World) -> None:
    """Two projects of one repository, and one around them."""
    root = world.root
    for name in ("a", "b"):
        (root / name).mkdir()
        (root / name / "file.txt").write_text(name)
        (root / name / "ostler.toml").write_text("")
    world.git("add", "-A")
    world.git("commit", "-qm", "two")
    for name in ("a", "b"):
        world.root = root / name
        complete_one(world, f"In {name}")
    subprocess.run(["git", "clean", "-qffdx"], cwd=root, check=True)
    for name in ("a", "b"):
        world.root = root / name
        assert [task["title"] for task in world.json("status")["tasks"]] == [f"In {name}"]
    world.root = root


def test_separate_git_directory(world: World, tmp_path: Path) -> None:
    """The state is in the git directory, wherever it is, and .ostler leads there."""
    world.git("init", "-q", "--separate-git-dir", str(tmp_path / "git"))
    task = complete_one(world)
    assert journal_path(world.root) == tmp_path / "git" / "ostler" / "ostler.db"
    assert (world.root / ".ostler" / "tasks" / task / "task.md").is_file()


def test_missing_journal_is_lost_and_not_created_again(world: World) -> None:
    """Files of tasks without a journal: every command says so, and none starts with an empty journal."""
    complete_one(world)
    journal_path(world.root).unlink()
    for command in (["status"], ["new", "Second"], ["run", "--all"], ["init"]):
        done = world.ostler(*command, code=3)
        assert "ostler journal rebuild" in done.stderr, done.stderr
        assert not journal_path(world.root).exists()


def test_whole_clone_deleted(tmp_path: Path) -> None:
    """The state disappears with the clone: elsewhere are only the user's limits and list of projects."""
    home = Path(os.environ["HOME"])
    before = sorted(home.rglob("*ostler*"))
    ledger = home / ".local/state/ostler"
    made = World(tmp_path)
    complete_one(made)
    shutil.rmtree(made.root)
    assert not list(tmp_path.rglob("*ostler*"))
    assert sorted(home.rglob("*ostler*")) == sorted((*before, ledger))
    assert {file.name.partition("-1.db")[0] for file in ledger.iterdir()} == {
        "limits",
        "projects.json",
        "projects.lock",
    }
    assert {file.name for file in ledger.iterdir() if bytes(made.root) in file.read_bytes()} == {
        "projects.json"
    }
    assert [one.is_gone for one in KnownProjects(os.environ).list()] == [True]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
def test_path_that_is_not_utf_8(tmp_path: Path) -> None:
    """SQLite cannot open it: a usage error, and nothing is created."""
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    made = World(tmp_path)
    made.root = place
    place.mkdir()
    for command in (["init"], ["new", "First"]):
        done = made.ostler(*command, code=2)
        assert "caf\\xe9/.ostler/ostler.db is not valid UTF-8" in done.stderr
    assert list(place.iterdir()) == []


def test_init_prints_the_place_of_the_state(world: World) -> None:
    assert "state is in .git/ostler.\n" in world.ostler("init").stdout
