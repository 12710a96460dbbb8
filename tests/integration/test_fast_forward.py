"""A target that is checked out moves with its files, only if no file of the user can be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_world import BRANCH, git, snapshot_of
from ostler.git.identity import OSTLER
from ostler.git.publish.fast_forward import CheckedOutTarget
from ostler.git.publish.publish import PublishResult, publish_merge
from publish_world import PublishWorld


@pytest.fixture
def world(tmp_path: Path) -> PublishWorld:
    return PublishWorld(tmp_path)


def test_a_clean_checkout_moves_with_its_files(world: PublishWorld) -> None:
    """The branch, the index and the files are those of the commit; the previous tip is kept."""
    worktree = world.work({"mine.txt": "mine"})
    before = git(world.project, "rev-parse", "main")
    published = publish_merge(worktree, "main", OSTLER, "x")
    assert published.result is PublishResult.MERGED
    assert (world.project / "mine.txt").read_text() == "mine"
    assert git(world.project, "rev-parse", "HEAD") == published.commit
    assert git(world.project, "status", "--porcelain") == ""
    kept = git(world.project, "for-each-ref", "--format=%(objectname)", "refs/ostler/previous/main")
    assert kept == before


def test_the_settings_file_may_be_untracked(world: PublishWorld) -> None:
    """`ostler init` leaves ostler.toml untracked, which does not prevent a merge."""
    worktree = world.work({"mine.txt": "mine"})
    (world.project / "ostler.toml").write_text("")
    assert publish_merge(worktree, "main", OSTLER, "x").result is PublishResult.MERGED


def change_file(world: PublishWorld) -> None:
    (world.project / "a.txt").write_text("changed\n")


def stage_file(world: PublishWorld) -> None:
    change_file(world)
    git(world.project, "add", "a.txt")


def add_untracked(world: PublishWorld) -> None:
    (world.project / "notes.txt").write_text("mine\n")


def start_bisect(world: PublishWorld) -> None:
    (world.project / ".git" / "BISECT_LOG").write_text("")


def start_merge(world: PublishWorld) -> None:
    (world.project / ".git" / "MERGE_HEAD").write_text(git(world.project, "rev-parse", "HEAD"))


def start_rebase(world: PublishWorld) -> None:
    (world.project / ".git" / "rebase-merge").mkdir()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (change_file, "uncommitted changes (a.txt)"),
        (stage_file, "uncommitted changes (a.txt)"),
        (add_untracked, "uncommitted changes (notes.txt)"),
        (start_bisect, "a bisect is in progress"),
        (start_merge, "a merge is in progress"),
        (start_rebase, "a rebase is in progress"),
    ],
)
def test_a_checkout_in_use_is_not_changed(world: PublishWorld, make, reason: str) -> None:
    """The error has the reason and the one command to type."""
    worktree = world.work({"mine.txt": "mine"})
    make(world)
    files = {path: path.read_bytes() for path in world.project.glob("*.txt")}
    index, tip = (world.project / ".git/index").read_bytes(), git(world.project, "rev-parse", "main")
    with pytest.raises(CheckedOutTarget) as caught:
        publish_merge(worktree, "main", OSTLER, "x")
    assert reason in caught.value.message
    assert caught.value.command == f"git -C {world.project} merge --no-overwrite-ignore {BRANCH}"
    assert {path: path.read_bytes() for path in world.project.glob("*.txt")} == files
    assert (world.project / ".git/index").read_bytes() == index
    assert git(world.project, "rev-parse", "main") == tip


@pytest.mark.parametrize("where", [".gitignore", ".git/info/exclude", "global"])
def test_an_ignored_file_of_the_user_stays(world: PublishWorld, where: str, own_home: Path) -> None:
    """A commit that adds an ignored path is never checked out over the user's file."""
    if where == ".gitignore":
        world.commit({".gitignore": ".ostler/\nlocal.txt\n"})
    worktree = world.work({})
    (worktree.path / "local.txt").write_text("theirs")
    git(worktree.path, "add", "-f", "local.txt")
    git(worktree.path, "commit", "-qm", "agent: local.txt")
    if where == "global":
        (own_home / ".config/git").mkdir(parents=True)
        (own_home / ".config/git/ignore").write_text("local.txt\n")
    elif where != ".gitignore":
        (world.project / where).write_text("local.txt\n")
    (world.project / "local.txt").write_text("mine")
    with pytest.raises(CheckedOutTarget, match=r"adds local.txt, which is ignored there"):
        publish_merge(worktree, "main", OSTLER, "x")
    assert (world.project / "local.txt").read_text() == "mine"


def test_filters_are_not_run(world: PublishWorld) -> None:
    """A file under LFS or another filter is left to the user's git."""
    worktree = world.work(
        {".gitattributes": "*.bin filter=lfs\n", "a.bin": "version https://git-lfs.github.com/spec/v1\n"}
    )
    with pytest.raises(CheckedOutTarget, match=r"a.bin needs the filter lfs"):
        publish_merge(worktree, "main", OSTLER, "x")


def test_submodules_are_not_checked_out(world: PublishWorld) -> None:
    """A project with a submodule is left to the user's git."""
    head = git(world.project, "rev-parse", "HEAD")
    git(world.project, "update-index", "--add", "--cacheinfo", f"160000,{head},lib")
    git(world.project, "commit", "-qm", "submodule")
    (world.project / "lib").mkdir()
    worktree = world.work({"mine.txt": "mine"})
    before = snapshot_of(world.project)
    with pytest.raises(CheckedOutTarget, match="submodules"):
        publish_merge(worktree, "main", OSTLER, "x")
    before["refs"] = snapshot_of(world.project)["refs"]
    assert snapshot_of(world.project) == before
