"""Worktrees made from released ones are the same as new ones, after any use."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from git_world import commit_step, git, registered
from ostler.git.repository import Worktree
from ostler.git.worktree import worktree_pool as warm
from ostler.git.worktree.trash import empty_trash
from ostler.git.worktree.worktree import release_worktree
from warm_world import LEAK, WarmWorld, inodes, picture, registration

Mess = Callable[[Path, Path], None]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WarmWorld:
    monkeypatch.setattr(warm, "MIN_INDEX_BYTES", 0)
    return WarmWorld(tmp_path)


def leave_files(tree: Path, admin: Path) -> None:
    (tree / "build" / "deep").mkdir(parents=True)
    (tree / "build" / "deep" / LEAK).write_text(LEAK)
    (tree / "sub" / "untracked").write_text(LEAK)
    (tree / "sub" / "empty").mkdir()
    (tree / os.fsdecode(b"bad-\xff")).write_text(LEAK)
    os.mkfifo(tree / "fifo")
    (tree / "sealed").mkdir()
    (tree / "sealed" / "file").write_text(LEAK)
    (tree / "sealed").chmod(0)


def change_content(tree: Path, admin: Path) -> None:
    (tree / "a.txt").write_text(LEAK)


def change_content_unseen(tree: Path, admin: Path) -> None:
    """Change a file with the same size and the same time."""
    before = (tree / "a.txt").stat()
    (tree / "a.txt").write_text("eno\n")
    os.utime(tree / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))


def change_modes(tree: Path, admin: Path) -> None:
    (tree / "a.txt").chmod(0o777)
    (tree / "b.txt").chmod(0)
    (tree / "sub" / "c.txt").chmod(0o666)
    (tree / "run.sh").chmod(0o644)


def change_kinds(tree: Path, admin: Path) -> None:
    (tree / "a.txt").unlink()
    (tree / "a.txt").mkdir()
    (tree / "a.txt" / "inside").write_text(LEAK)
    (tree / "b.txt").unlink()
    (tree / "b.txt").symlink_to("/etc/hostname")
    (tree / "link").unlink()
    (tree / "link").write_text(LEAK)


def lead_a_folder_out(tree: Path, admin: Path) -> None:
    outside = tree.parents[3] / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "c.txt").write_text("precious")
    shutil.rmtree(tree / "sub")
    (tree / "sub").symlink_to(outside)


def put_a_file_for_a_folder(tree: Path, admin: Path) -> None:
    shutil.rmtree(tree / "sub")
    (tree / "sub").write_text(LEAK)


def delete_everything(tree: Path, admin: Path) -> None:
    for path in tree.iterdir():
        if path.name not in (".git", "vendored"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def link_from_outside(tree: Path, admin: Path) -> None:
    os.link(tree / "a.txt", tree.parents[3] / "another-name")


def hide_changes_from_git(tree: Path, admin: Path) -> None:
    git(tree, "update-index", "--assume-unchanged", "a.txt")
    git(tree, "update-index", "--skip-worktree", "b.txt")
    (tree / "a.txt").write_text(LEAK)
    (tree / "b.txt").write_text(LEAK)


def damage_the_index(tree: Path, admin: Path) -> None:
    (admin / "index").write_bytes(b"DIRC" + LEAK.encode())
    (admin / "index.lock").write_text(LEAK)


def commit_work(tree: Path, admin: Path) -> None:
    (tree / "work.txt").write_text(LEAK)
    (tree / "sub" / "c.txt").unlink()
    git(tree, "add", "-A", "--", "work.txt", "sub")
    git(tree, "commit", "-qm", LEAK)
    git(tree, "switch", "-q", "--detach", "HEAD~1")
    (tree / "staged").write_text(LEAK)
    git(tree, "add", "staged")


def write_into_the_registration(tree: Path, admin: Path) -> None:
    (admin / "hooks").mkdir()
    (admin / "info").mkdir(exist_ok=True)
    (admin / "rebase-merge").mkdir()
    for name in ("ostler-prepared", "config.worktree", "hooks/post-checkout", "info/exclude", "MERGE_HEAD"):
        (admin / name).write_text(f"# {LEAK}\n")


def write_attributes(tree: Path, admin: Path) -> None:
    """Write attributes that change how other files are checked out."""
    (tree / ".gitattributes").write_text("* text eol=crlf\n")
    (tree / "sub" / ".gitattributes").write_text("* text eol=crlf\n")
    (tree / "a.txt").write_text(LEAK)
    (tree / "sub" / "c.txt").write_text(LEAK)


def nest_repositories(tree: Path, admin: Path) -> None:
    git(tree, "init", "-q", "nested")
    (tree / "nested" / "file").write_text(LEAK)
    (tree / ".git").unlink()
    git(tree, "init", "-q")
    (tree / ".git" / "hooks" / "post-checkout").write_text(f"#!/bin/sh\necho {LEAK} > {LEAK}\n")
    (tree / ".git" / "hooks" / "post-checkout").chmod(0o755)


def change_a_folders_mode(tree: Path, admin: Path) -> None:
    (tree / "sub").chmod(0o700)


def put_attributes_on_a_folder(tree: Path, admin: Path) -> None:
    os.setxattr(tree / "sub", "user.leak", LEAK.encode())


def fill_the_submodule(tree: Path, admin: Path) -> None:
    (tree / "vendored" / "file").write_text(LEAK)


def remove_the_submodule(tree: Path, admin: Path) -> None:
    (tree / "vendored").rmdir()


def bury(tree: Path, admin: Path) -> None:
    """Create a tree deeper than the longest path."""
    here = os.open(tree / "sub", os.O_RDONLY)
    for _ in range(600):
        os.mkdir("a-rather-long-name", dir_fd=here)
        below = os.open("a-rather-long-name", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


USED_AGAIN = [
    leave_files,
    change_content,
    change_content_unseen,
    change_modes,
    change_kinds,
    lead_a_folder_out,
    put_a_file_for_a_folder,
    delete_everything,
    link_from_outside,
    hide_changes_from_git,
    damage_the_index,
    commit_work,
    write_into_the_registration,
    write_attributes,
    nest_repositories,
    fill_the_submodule,
    bury,
]
DOUBTFUL = [change_a_folders_mode, put_attributes_on_a_folder, remove_the_submodule]


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
