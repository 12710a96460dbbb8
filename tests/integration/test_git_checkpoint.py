from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from git_world import BRANCH, TASK, World, assert_settled, commit_step, git, make_world, tree
from ostler.errors import Code, GitError
from ostler.git.commit.checkpoint import Checkpoint, create_checkpoint
from ostler.git.identity import OSTLER, Identity
from ostler.git.worktree.worktree import remove_worktree

AS_AGENT = ("-c", "user.name=a", "-c", "user.email=a@b")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def test_all_that_changed_is_one_commit(world: World):
    """New, changed, deleted and renamed files, modes and links; ignored files and Ostler's state stay out."""
    worktree = world.prepare()
    (world.path / "a.txt").unlink()
    (world.path / "sub" / "b.txt").write_text("changed\n")
    (world.path / "run.sh").write_text("#!/bin/sh\n")
    (world.path / "run.sh").chmod(0o755)
    os.symlink("run.sh", world.path / "link")
    (world.path / "build").mkdir()
    (world.path / "build" / "out").write_text("ignored")
    (world.path / ".ostler").mkdir()
    (world.path / ".ostler" / "state.yaml").write_text("status: complete")
    git(world.path, "rm", "-q", "--cached", ".gitignore")
    made = commit_step(worktree)
    assert tree(world) == {".gitignore", "sub/b.txt", "run.sh", "link"}
    assert git(world.project, "rev-parse", BRANCH) == made.commit
    assert git(world.project, "rev-parse", f"{BRANCH}^") == worktree.base
    assert "100755" in git(world.project, "ls-tree", BRANCH, "run.sh")
    assert "120000" in git(world.project, "ls-tree", BRANCH, "link")
    assert_settled(world)


def test_our_state_stays_out_even_when_the_repository_ignores_nothing(tmp_path: Path):
    """The checkpoint itself leaves out the agent's state copy."""
    made = World(tmp_path)
    made.commit({"a": "1"})
    worktree = made.prepare()
    (worktree.path / ".ostler").mkdir()
    (worktree.path / ".ostler" / "state.yaml").write_text("x")
    (worktree.path / "new").write_text("x")
    commit_step(worktree)
    assert tree(made) == {"a", "new"}


def test_message_trailers_and_identity(world: World):
    """The message is that of the contract, git reads the trailers, and the name is the given one."""
    trailers = {"Task-Id": TASK, "Phase": "implement", "Attempt": "2", "Step": "t/1"}
    identity = Identity("Ünal User", "u@example.org")
    create_checkpoint(
        world.prepare(), f"[ostler] {TASK}: implement - completed\n\nForged: yes", trailers, identity
    )
    shown = git(
        world.project, "log", "-1", "--format=%s|%an|%ae|%cn|%(trailers:unfold,separator=%x2C)", BRANCH
    )
    assert shown.startswith(
        f"[ostler] {TASK}: implement - completed Forged: yes|Ünal User|u@example.org|Ünal User|"
    )
    assert shown.endswith(f"Task-Id: {TASK},Phase: implement,Attempt: 2,Step: t/1")


def test_nothing_changed_is_an_empty_commit(world: World):
    """A phase without changes still ends with its commit."""
    worktree = world.prepare()
    made = commit_step(worktree)
    assert git(world.project, "rev-parse", f"{made.commit}^{{tree}}") == git(
        world.project, "rev-parse", "main^{tree}"
    )


def test_one_step_is_committed_once(world: World):
    """After a kill between commit and journal the second call adopts the commit."""
    worktree = world.prepare()
    (world.path / "x").write_text("1")
    first = commit_step(worktree, "t/1")
    again = commit_step(worktree, "t/1")
    assert again.adopted and again == Checkpoint(first.commit, first.tree, adopted=True)
    assert git(world.project, "rev-list", "--count", f"main..{BRANCH}") == "1"


def test_other_work_of_the_same_step_is_committed(world: World):
    """A restored journal repeats the names of steps: an old commit does not replace the present files."""
    worktree = world.prepare()
    for step, text in (("t/1", "1"), ("t/1", "2"), ("t/2", "3"), ("t/1", "1")):
        (world.path / "x").write_text(text)
        made = commit_step(worktree, step)
        assert not made.adopted
        assert git(world.project, "show", f"{BRANCH}:x") == text
        assert git(world.project, "rev-parse", BRANCH) == made.commit
    assert not commit_step(worktree, "t/2").adopted, "it is not the tip"


def test_a_longer_step_is_another_step(world: World):
    """t/1 is not found in a commit of t/12 or in the middle of a message."""
    worktree = world.prepare()
    commit_step(worktree, "t/12")
    git(world.path, "commit", "-q", "--allow-empty", "-m", "x\n\nStep: t/1\n\nand more text")
    assert not commit_step(worktree, "t/1").adopted


def test_the_users_commits_are_not_searched(world: World):
    """A trailer in the history before the base is ignored."""
    world.commit({}, "x\n\nStep: t/1")
    assert not commit_step(world.prepare(), "t/1").adopted


def test_files_and_directories_changing_places(world: World):
    """A file becomes a directory, a directory becomes a file, and a directory becomes a link."""
    world.commit({"d1/x": "1", "d2/x": "2", "f": "3"})
    worktree = world.prepare()
    shutil.rmtree(world.path / "d1")
    (world.path / "d1").write_text("file now")
    shutil.rmtree(world.path / "d2")
    os.symlink("sub", world.path / "d2")
    (world.path / "sub" / "x").write_text("not read through the link")
    (world.path / "f").unlink()
    (world.path / "f").mkdir()
    (world.path / "f" / "y").write_text("4")
    (world.path / "a.txt").unlink()
    (world.path / "a.txt").mkdir()
    commit_step(worktree)
    assert {"d1", "d2", "f/y"} <= tree(world)
    assert not {"d1/x", "d2/x", "f", "a.txt"} & tree(world)
    assert_settled(world)


ODD_NAMES = [
    b"line\nbreak",
    b"tab\t",
    b'"quoted"',
    b"-n",
    b"--",
    b":(exclude)x",
    b" ",
    b"*",
    b"bad-\xff",
    b"A.TXT",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*ODD_NAMES, b"n" * 255])
def test_names_of_every_kind(world: World, name: bytes):
    """No name is read as an option, a pattern or two names."""
    worktree = world.prepare()
    (world.path / os.fsdecode(name)).write_text("x")
    commit_step(worktree)
    assert os.fsdecode(name) in tree(world)
    (world.path / os.fsdecode(name)).unlink()
    commit_step(worktree, "t/2")
    assert os.fsdecode(name) not in tree(world)


def test_a_write_that_only_its_time_betrays_is_seen(world: World):
    """Same size and time as the index: git reads such files, and the copy of its index must keep that."""
    worktree = world.prepare()
    git(world.project, "config", "core.trustctime", "false")
    file, index = world.path / "a.txt", worktree.repository.git_dir / "index"
    past = file.stat().st_mtime - 10
    file.write_text("aaa\n")
    os.utime(file, (past, past))
    git(world.path, "add", "a.txt")
    file.write_text("bbb\n")
    for each in (file, index):
        os.utime(each, (past, past))
    commit_step(worktree)
    assert git(world.project, "show", f"{BRANCH}:a.txt") == "bbb"


def test_a_write_in_the_same_tick_is_seen(world: World):
    """Same size and second, right after git wrote its index: it is still a change."""
    worktree = world.prepare()
    for turn in range(5):
        (world.path / "a.txt").write_text(f"{turn}00\n")
        git(world.path, "add", "a.txt")
        (world.path / "a.txt").write_text(f"{turn}99\n")
        commit_step(worktree, f"t/{turn}")
        assert git(world.project, "show", f"{BRANCH}:a.txt") == f"{turn}99"


@pytest.mark.parametrize("damage", ["missing", "garbage", "cut", "pipe", "link"])
def test_a_damaged_index_is_made_again(world: World, damage: str):
    """The index is a cache that Ostler rebuilds; no work is lost."""
    worktree = world.prepare()
    (world.path / "new.txt").write_text("x")
    index = worktree.repository.git_dir / "index"
    content = index.read_bytes()
    index.unlink()
    if damage == "garbage":
        index.write_bytes(b"garbage" * 20)
    elif damage == "cut":
        index.write_bytes(content[: len(content) // 2])
    elif damage == "pipe":
        os.mkfifo(index)
    elif damage == "link":
        os.symlink("/etc/passwd", index)
    commit_step(worktree)
    assert tree(world) == {".gitignore", "a.txt", "new.txt", "sub/b.txt"}
    assert_settled(world)


def test_pipes_in_the_way_are_removed(world: World, monkeypatch: pytest.MonkeyPatch):
    """A pipe never blocks: neither as a file of the agent nor under a name that git opens."""
    monkeypatch.setattr("ostler.git.commit.pending.FIRST_SCAN_SECONDS", 1.0)
    worktree = world.prepare()
    (world.path / ".gitignore").unlink()
    os.mkfifo(world.path / ".gitignore")
    os.mkfifo(world.path / "sub" / ".gitattributes")
    os.mkfifo(world.path / "pipe")
    (world.path / "new.txt").write_text("x")
    commit_step(worktree)
    assert tree(world) == {"a.txt", "new.txt", "sub/b.txt"}


def test_nested_repositories_are_skipped_and_named(world: World):
    """A repository inside the worktree, with or without commits, is neither entered nor committed."""
    worktree = world.prepare()
    for name in ("empty", "full"):
        git(world.path, "init", "-q", name)
        (world.path / name / "inner.txt").write_text("x")
    git(world.path / "full", "add", "-A")
    git(world.path / "full", *AS_AGENT, "commit", "-qm", "x")
    (world.path / "beside.txt").write_text("x")
    made = commit_step(worktree)
    assert "beside.txt" in tree(world)
    assert not {"empty", "full", "full/inner.txt"} & tree(world)
    assert [warning.split()[0] for warning in made.warnings] == ["empty", "full"]


def test_a_submodule_keeps_its_commit(world: World):
    """Changes inside a submodule do not move its pointer."""
    git(world.project, "init", "-q", "module")
    git(world.project / "module", *AS_AGENT, "commit", "-q", "--allow-empty", "-m", "1")
    world.commit({})
    worktree = world.prepare()
    before = git(world.project, "ls-tree", BRANCH, "module")
    assert before.startswith("160000")
    git(world.path, "clone", "-q", str(world.project / "module"), "module")
    git(world.path / "module", *AS_AGENT, "commit", "-q", "--allow-empty", "-m", "2")
    made = commit_step(worktree)
    assert git(world.project, "ls-tree", BRANCH, "module") == before
    assert made.warnings


@pytest.mark.parametrize("loss", ["directory", "contents", "registration"])
def test_a_lost_worktree_is_reported(world: World, loss: str):
    """If an agent deletes its own worktree the result is WORKTREE_LOST; the cleanup still works."""
    worktree = world.prepare()
    if loss == "registration":
        shutil.rmtree(worktree.repository.git_dir)
    else:
        shutil.rmtree(world.path)
    if loss == "contents":
        world.path.mkdir()
    with pytest.raises(GitError) as caught:
        commit_step(worktree)
    assert caught.value.code is Code.WORKTREE_LOST
    assert remove_worktree(worktree) == 0


def test_a_zeroed_object_is_corruption(world: World):
    """An empty object file is GIT_CORRUPT, and no branch is moved."""
    worktree = world.prepare()
    (world.path / "new").write_text("x")
    objects = world.project / ".git" / "objects" / worktree.base[:2] / worktree.base[2:]
    objects.chmod(0o644)
    objects.write_bytes(b"")
    with pytest.raises(GitError) as caught:
        commit_step(worktree)
    assert caught.value.code is Code.GIT_CORRUPT


def test_a_repository_that_disappears_is_corruption(world: World):
    """Without its .git the content of the worktree is kept and the error names what is missing."""
    worktree = world.prepare()
    shutil.move(world.project / ".git", world.root / "hidden")
    with pytest.raises(GitError) as caught:
        commit_step(worktree)
    assert caught.value.code in (Code.GIT_CORRUPT, Code.WORKTREE_LOST)
    assert (worktree.path / "a.txt").exists()


def _as_ordinary_user(act: Callable[[Path], None]) -> None:
    """Run in a child process as an unprivileged user, in a new directory; unchanged if not root."""
    room = Path(tempfile.mkdtemp())
    if os.geteuid() != 0:
        act(room)
        shutil.rmtree(room)
        return
    room.chmod(0o777)
    child = os.fork()
    if child == 0:
        try:
            os.environ["HOME"] = str(room)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            act(room)
            os._exit(0)
        except BaseException:  # noqa: BLE001  (a child of a test must never return into pytest)
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    shutil.rmtree(room)


def _close_files(room: Path) -> None:
    made = World(room)
    made.commit({"a": "1"})
    worktree = made.prepare()
    (worktree.path / "closed").write_text("x")
    (worktree.path / "closed").chmod(0)
    (worktree.path / "sealed" / "deep").mkdir(parents=True)
    (worktree.path / "sealed" / "deep" / "file").write_text("y")
    (worktree.path / "sealed" / "deep").chmod(0)
    (worktree.path / "sealed").chmod(0)
    commit_step(worktree)
    assert tree(made) == {"a", "closed", "sealed/deep/file"}
    (worktree.path / "sealed").chmod(0)
    worktree.path.chmod(0o500)
    assert remove_worktree(worktree) == 0


def test_closed_files_and_directories_are_committed_and_removed():
    """File modes set by an agent hide nothing from the commit and block no cleanup, for any user."""
    _as_ordinary_user(_close_files)


def test_ostlers_own_identity():
    """The fallback is that of the contract."""
    assert (OSTLER.name, OSTLER.email) == ("Ostler", "ostler@localhost")
