"""Worktrees made from released ones are the same as new ones, after any use."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from git_world import commit_step, git, registered
from ostler.git.repository import Worktree
from ostler.git.worktree import worktree_pool as warm
from ostler.git.worktree.trash import empty_trash
from ostler.git.worktree.worktree import release_worktree
from tree_messes import DOUBTFUL, USED_AGAIN, Mess, change_content_unseen, delete_everything, leave_files
from warm_world import LEAK, WarmWorld, inodes, picture, registration


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WarmWorld:
    monkeypatch.setattr(warm, "MIN_INDEX_BYTES", 0)
    return WarmWorld(tmp_path)


@pytest.mark.parametrize("later", [False, True], ids=["same base", "later base, cleaned ahead"])
@pytest.mark.sampled(3)
@pytest.mark.parametrize("mess", USED_AGAIN + DOUBTFUL)
def test_a_kept_tree_is_what_a_new_one_would_be(world: WarmWorld, mess: Mess, later: bool) -> None:
    """Bytes, modes, links, folders and registration are the same; nothing of the old task is left."""
    first = world.begin("first")
    old = inodes(first.path)
    mess(first.path, first.repository.git_dir)
    release_worktree(first, 2)
    assert world.kept == ["first"] and not first.path.exists()
    if later:
        world.clean_ahead()
        assert world.pool.entry("first").clean_marker.exists() == (mess in USED_AGAIN)
        git(world.project, "rm", "-q", "b.txt")
        world.write({"a.txt": "changed\n", "sub/new/e.txt": "five\n"})
        git(world.project, "add", "a.txt", "sub")
        git(world.project, "commit", "-qm", "later")
    second, cold = world.begin("second"), world.begin("cold", 0)
    assert_alike(second, cold)
    if mess is not delete_everything:
        assert bool(inodes(second.path) & old) == (mess in USED_AGAIN)
    outside = world.root / "outside" / "c.txt"
    assert not outside.exists() or outside.read_text() == "precious"


def assert_alike(second: Worktree, cold: Worktree) -> None:
    assert picture(second.path) == picture(cold.path)
    assert registration(second) == registration(cold)
    assert git(second.path, "status", "--porcelain", "--ignored") == ""
    assert git(second.path, "symbolic-ref", "HEAD") == second.ref
    assert git(second.path, "rev-parse", "HEAD") == second.base
    search = ["grep", "-rl", LEAK, str(second.path), str(second.repository.git_dir)]
    assert subprocess.run(search, capture_output=True, check=False).stdout == b""


@pytest.mark.parametrize("written", ["before it is cleaned", "afterwards"])
def test_a_tree_that_was_cleaned_ahead_is_only_compared(
    world: WarmWorld, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    """Its files were written again in the background; one that is changed after that is still found."""
    first = world.begin("first")
    old = inodes(first.path)
    change_content_unseen(first.path, first.repository.git_dir)
    leave_files(first.path, first.repository.git_dir)
    release_worktree(first, 2)
    world.clean_ahead()
    if written == "afterwards":
        (world.pool.entry("first").tree / "b.txt").write_text("owt\n")
    commands: list[str] = []
    run_git = warm.run_git
    monkeypatch.setattr(
        warm,
        "run_git",
        lambda repository, *args, **more: commands.append(args[0]) or run_git(repository, *args, **more),
    )
    second = world.begin("second")
    assert ("reset" in commands) == (written == "afterwards"), commands
    assert picture(second.path) == picture(world.begin("cold", 0).path)
    assert git(second.path, "status", "--porcelain", "--ignored") == ""
    assert len(inodes(second.path) & old) >= len(old) - 2


def test_a_third_task_gets_it_again(world: WarmWorld) -> None:
    """The tree is reused by each task, and is verified each time."""
    for number in range(4):
        worktree = world.begin(f"task-{number}")
        (worktree.path / "a.txt").write_text(f"{number}{LEAK}")
        (worktree.path / "work.txt").write_text(LEAK)
        commit_step(worktree)
        release_worktree(worktree, 2)
        assert world.kept == [f"task-{number}"]
    assert_alike(world.begin("last"), world.begin("cold", 0))
    assert empty_trash(world.worktrees) == 0


def test_a_task_that_is_opened_again_finds_its_own_work(world: WarmWorld) -> None:
    """Its branch has commits by then; they are checked out from the kept tree."""
    first = world.begin("first")
    (first.path / "work.txt").write_text("done")
    git(first.path, "add", "work.txt")
    git(first.path, "commit", "-qm", "work\n\nTask-Id: first")
    old = inodes(first.path)
    release_worktree(first, 2)
    again = world.begin("first")
    assert again == first and (again.path / "work.txt").read_text() == "done"
    assert git(again.path, "status", "--porcelain", "--ignored") == ""
    assert inodes(again.path) & old and world.kept == []


def test_no_more_are_kept_than_the_setting_allows(world: WarmWorld) -> None:
    """With 0 none is kept; removed trees are only in the trash."""
    open_ones = [world.begin(f"task-{number}") for number in range(4)]
    for worktree in open_ones:
        release_worktree(worktree, 2)
    kept = world.kept
    assert len(kept) == 2 and "task-3" in kept
    world.begin_and_end("off", 0)
    assert world.kept == kept
    assert sorted(os.listdir(world.worktrees)) == [".trash", ".warm"]
    assert registered(world.repository) == []


def test_a_small_tree_is_not_kept(world: WarmWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new one is faster than the cleanup."""
    monkeypatch.undo()
    world.begin_and_end("small")
    assert world.kept == []


def test_a_repository_cannot_make_git_look_less_closely(world: WarmWorld) -> None:
    """Only the ctime, which no program can set, distinguishes the file from the one checked out."""
    git(world.project, "config", "core.trustctime", "false")
    git(world.project, "config", "core.checkStat", "minimal")
    first = world.begin("first")
    index = first.repository.git_dir / "index"
    while int(time.time()) <= int(index.stat().st_mtime) + 1:  # git may count whole seconds
        time.sleep(0.05)
    change_content_unseen(first.path, first.repository.git_dir)
    release_worktree(first, 2)
    # otherwise git would compare the bytes of each file with those of the commit
    os.utime(world.pool.entry("first").index)
    assert_alike(world.begin("second"), world.begin("cold", 0))


def _other_boot(world: WarmWorld) -> None:
    place = world.pool.entry("first")
    seal = msgspec.json.decode(place.manifest.read_bytes(), type=warm.TreeManifest)
    place.manifest.write_bytes(msgspec.json.encode(msgspec.structs.replace(seal, boot="another")))


def _line_ends(world: WarmWorld) -> None:
    git(world.project, "config", "core.autocrlf", "true")


def _own_attributes(world: WarmWorld) -> None:
    (world.project / ".git" / "info").mkdir(exist_ok=True)
    (world.project / ".git" / "info" / "attributes").write_text("*.txt text eol=crlf\n")


def _attributes_in_the_commit(world: WarmWorld) -> None:
    world.write({"sub/.gitattributes": "*.txt text eol=crlf\n"})
    git(world.project, "add", "sub")
    git(world.project, "commit", "-qm", "attributes")


def _sparse(world: WarmWorld) -> None:
    git(world.project, "sparse-checkout", "set", "--cone", "sub")


def _torn_index(world: WarmWorld) -> None:
    index = world.pool.entry("first").index
    index.write_bytes(index.read_bytes()[:-30])


def _torn_seal(world: WarmWorld) -> None:
    world.pool.entry("first").manifest.write_bytes(b"{")


@pytest.mark.parametrize(
    "change",
    [_other_boot, _line_ends, _own_attributes, _attributes_in_the_commit, _sparse, _torn_index, _torn_seal],
)
def test_what_may_be_written_otherwise_now_is_made_anew(world: WarmWorld, change) -> None:
    """The rules for writing files have changed, or the machine was restarted."""
    first = world.begin("first")
    old = inodes(first.path)
    release_worktree(first, 2)
    change(world)
    second, cold = world.begin("second"), world.begin("cold", 0)
    assert picture(second.path) == picture(cold.path)
    assert not inodes(second.path) & old


def test_a_tree_where_something_is_alive_is_not_used(world: WarmWorld) -> None:
    """A remaining process would write into the next task's files."""
    first = world.begin("first")
    with subprocess.Popen(["sleep", "300"], cwd=first.path / "sub") as alive:
        try:
            old = inodes(first.path)
            release_worktree(first, 2)
            assert not inodes(world.begin("second").path) & old
        finally:
            alive.kill()


def test_one_tree_is_given_to_one_of_many(world: WarmWorld) -> None:
    """Of eight concurrent requests one gets it."""
    world.begin_and_end("first")
    start, repository = threading.Barrier(8), world.repository
    commit = git(world.project, "rev-parse", "HEAD")

    def ask(number: int) -> bool:
        start.wait()
        return warm.claim_tree(world.pool, f"task-{number}", repository, commit) is not None

    with ThreadPoolExecutor(8) as people:
        assert sum(people.map(ask, range(8))) == 1


def test_many_tasks_at_once_are_all_whole(world: WarmWorld) -> None:
    """Prepared and released in parallel, each has the commit and nothing else."""
    wanted = picture(world.begin("cold", 0).path)

    def work(number: int) -> bool:
        alike = []
        for turn in range(3):
            worktree = world.begin(f"task-{number}-{turn}")
            alike.append(picture(worktree.path) == wanted)
            (worktree.path / "a.txt").write_text(LEAK)
            (worktree.path / f"{LEAK}-{number}").write_text(LEAK)
            release_worktree(worktree, 2)
        return all(alike)

    with ThreadPoolExecutor(4) as people:
        assert all(people.map(work, range(4)))
    # One that was not kept, because of another at the same moment, is removed.
    assert 1 <= len(world.kept) <= 2 and len(registered(world.repository)) == 1


def test_a_pool_that_cannot_be_written_stops_no_task(world: WarmWorld) -> None:
    """A file is at its path: worktrees are created and removed as without a pool."""
    world.worktrees.mkdir(parents=True)
    (world.worktrees / ".warm").write_text("")
    world.begin_and_end("one")
    assert (world.begin("two").path / "a.txt").read_text() == "one\n"
    assert world.kept == [] and not (world.worktrees / "one").exists()
