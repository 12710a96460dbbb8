from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from git_world import TASK, World, commit_step, git, make_world, registered, snapshot_of
from ostler.errors import Code, GitError, PathEscape
from ostler.git.discovery import discover_repository
from ostler.git.refs import find_base
from ostler.git.repository import locate_worktree
from ostler.git.worktree.worktree import prepare_worktree, release_worktree, remove_worktree


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


BRANCH = f"ostler/{TASK}"


def is_usable(world: World) -> bool:
    """Return whether the user's git finds a clean checkout of the branch there."""
    clean = git(world.path, "status", "--porcelain") == ""
    return clean and git(world.path, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"


def test_a_fresh_worktree(world: World):
    """It starts at the base, on the task's branch, and the agent works in its root."""
    worktree = world.prepare()
    assert is_usable(world)
    assert worktree.base == git(world.project, "rev-parse", "main") == git(world.path, "rev-parse", "HEAD")
    assert worktree.cwd == world.path
    assert (world.path / "a.txt").read_text() == "one\n"


def test_the_users_checkout_stays_byte_for_byte(world: World):
    """Dirty, staged, untracked and stashed work, the index, HEAD, config and branches are unchanged."""
    (world.project / "stashed.txt").write_text("s")
    git(world.project, "stash", "-u", "-q")
    (world.project / "a.txt").write_text("dirty\n")
    (world.project / "staged.txt").write_text("staged\n")
    git(world.project, "add", "staged.txt")
    (world.project / "untracked.txt").write_text("u\n")
    before = snapshot_of(world.project)
    worktree = world.prepare()
    (worktree.path / "new.txt").write_text("agent\n")
    commit_step(worktree)
    remove_worktree(worktree)
    assert snapshot_of(world.project) == before
    assert not (world.path / "staged.txt").exists()


def test_a_detached_head_is_a_base(world: World):
    """A detached HEAD gives a branch for the task as well."""
    git(world.project, "switch", "-q", "--detach")
    world.prepare()
    assert is_usable(world)


def test_project_in_a_subdirectory(world: World):
    """The agent's directory is that of the project in the worktree."""
    repository = discover_repository(world.project / "sub")
    assert repository
    path = world.project / "sub" / ".ostler" / "worktrees" / TASK
    worktree = prepare_worktree(repository, path, BRANCH, find_base(repository).commit, TASK)
    assert worktree.cwd == path / "sub"
    assert (worktree.cwd / "b.txt").read_text() == "two\n"


def test_a_subdirectory_that_is_not_committed_is_made(world: World):
    """A project directory that is not in the commit is created as the agent's directory."""
    (world.project / "fresh" / "deep").mkdir(parents=True)
    repository = discover_repository(world.project / "fresh" / "deep")
    assert repository
    worktree = prepare_worktree(repository, world.path, BRANCH, find_base(repository).commit, TASK)
    assert worktree.cwd.is_dir() and worktree.cwd == world.path / "fresh" / "deep"


def test_a_subdirectory_that_leads_out_is_refused(world: World, tmp_path: Path):
    """A link in the commit cannot move the agent outside of its worktree."""
    os.symlink(tmp_path, world.project / "link")
    base = world.commit({})
    (world.project / "link").unlink()
    (world.project / "link").mkdir()
    repository = discover_repository(world.project / "link")
    assert repository
    with pytest.raises(PathEscape):
        prepare_worktree(repository, world.path, BRANCH, base, TASK)


def test_names_with_spaces_and_unicode(tmp_path: Path):
    """The project may have any name."""
    made = World(tmp_path, "my prøject 'ü' 日本")
    made.commit({"a file with spaces é.txt": "x"})
    worktree = made.prepare()
    (worktree.path / 'b "quoted" ü.txt').write_text("y")
    commit_step(worktree)
    assert is_usable(made)
    assert remove_worktree(worktree) == 0


def test_prepared_twice_is_prepared_once(world: World):
    """Existing work, committed or not, is kept by the second call."""
    worktree = world.prepare()
    commit_step(worktree)
    (worktree.path / "wip.txt").write_text("half done")
    assert world.prepare(worktree.base) == worktree
    assert (worktree.path / "wip.txt").read_text() == "half done"


def test_the_base_stays_when_the_users_branch_moves_on(world: World):
    """After a crash before the base was recorded, the diff still begins at the original base."""
    first = world.prepare()
    world.commit({"later.txt": "by the user"})
    assert world.prepare().base == first.base
    remove_worktree(first)
    assert world.prepare().base == first.base


def _delete_directory(world: World) -> None:
    shutil.rmtree(world.path)


def _delete_contents(world: World) -> None:
    shutil.rmtree(world.path)
    world.path.mkdir()


def _kill_add_early(world: World) -> None:
    """Leave the state of a git killed before the checkout: locked, registered, no files."""
    admin = world.project / ".git" / "worktrees" / TASK
    (admin / "locked").write_text("initializing")
    (admin / "index").unlink()
    for entry in world.path.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _kill_add_before_pointer(world: World) -> None:
    admin = world.project / ".git" / "worktrees" / TASK
    shutil.rmtree(world.path)
    for entry in admin.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    (admin / "locked").write_text("initializing")


def _lose_registration_files(world: World) -> None:
    admin = world.project / ".git" / "worktrees" / TASK
    for name in ("gitdir", "commondir", "HEAD"):
        (admin / name).unlink()


def _lose_registration(world: World) -> None:
    shutil.rmtree(world.project / ".git" / "worktrees")


def _locked_by_the_user_and_missing(world: World) -> None:
    git(world.project, "worktree", "lock", str(world.path))
    shutil.rmtree(world.path)


def _only_the_branch(world: World) -> None:
    git(world.project, "worktree", "remove", "--force", str(world.path))


def _released(world: World) -> None:
    release_worktree(locate_worktree(world.repository, world.path, BRANCH, "HEAD"))


def _released_half(world: World) -> None:
    """Leave the state of a kill between the rename and the end of the registration."""
    trash = world.path.parent / ".trash"
    trash.mkdir()
    world.path.rename(trash / "x")


def _replace_pointer_by_repository(world: World) -> None:
    (world.path / ".git").unlink()
    git(world.path, "init", "-q")


def _garbage_head(world: World) -> None:
    (world.project / ".git" / "worktrees" / TASK / "HEAD").write_bytes(b"\0\0\0")


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "crash",
    [
        _delete_directory,
        _delete_contents,
        _kill_add_early,
        _kill_add_before_pointer,
        _lose_registration_files,
        _lose_registration,
        _locked_by_the_user_and_missing,
        _only_the_branch,
        _released,
        _released_half,
        _replace_pointer_by_repository,
        _garbage_head,
    ],
)
@pytest.mark.parametrize("committed", [False, True], ids=["at base", "with a checkpoint"])
def test_it_converges_from_every_half_state(world: World, crash, committed: bool):
    """After any kill or manual change, the next call gives a usable worktree and no commit is lost."""
    worktree = world.prepare()
    if committed:
        (worktree.path / "done.txt").write_text("done")
        commit_step(worktree)
    crash(world)
    again = world.prepare()
    assert is_usable(world)
    assert again == worktree
    assert (world.path / "done.txt").exists() == committed
    assert len(registered(world.repository)) == 1


def test_uncommitted_work_survives_a_lost_registration(world: World):
    """Uncommitted files are kept when git has lost the registration of the worktree."""
    worktree = world.prepare()
    (worktree.path / "wip.txt").write_text("half done")
    shutil.rmtree(world.project / ".git" / "worktrees")
    again = world.prepare()
    commit_step(again)
    assert git(world.project, "show", f"{BRANCH}:wip.txt") == "half done"
    assert is_usable(world)


def test_a_moved_project_keeps_its_worktrees(world: World, tmp_path: Path):
    """Absolute paths in git's files are corrected after the directory was renamed."""
    worktree = world.prepare()
    (worktree.path / "wip.txt").write_text("half done")
    world.project = world.project.rename(tmp_path / "renamed")
    again = world.prepare()
    assert (again.path / "wip.txt").read_text() == "half done"
    assert git(again.path, "status", "--porcelain") == "?? wip.txt"


def test_a_copied_project_gets_its_own(world: World, tmp_path: Path):
    """A copy does not use the original's worktree, and the original does not use the copy's."""
    world.prepare()
    shutil.copytree(world.project, tmp_path / "copy", symlinks=True)
    original = world.project
    world.project = tmp_path / "copy"
    assert world.prepare().path == tmp_path / "copy" / ".ostler" / "worktrees" / TASK
    assert git(world.path, "rev-parse", "--absolute-git-dir").startswith(str(tmp_path / "copy"))
    pointer = original / ".ostler" / "worktrees" / TASK / ".git"
    assert pointer.read_text().startswith(f"gitdir: {original}")


def test_a_name_that_is_taken_elsewhere_is_refused(world: World, tmp_path: Path):
    """The user's own worktree of the same name is never taken over."""
    git(world.project, "worktree", "add", "-q", "-b", "mine", str(tmp_path / "else" / TASK))
    with pytest.raises(GitError) as caught:
        world.prepare()
    assert caught.value.code is Code.BRANCH_EXISTS


def test_a_foreign_branch_is_never_overwritten(world: World):
    """A branch of that name with other work ends the task, and is unchanged."""
    git(world.project, "switch", "-qc", BRANCH)
    theirs = world.commit({"mine.txt": "by a person"})
    git(world.project, "switch", "-q", "main")
    with pytest.raises(GitError) as caught:
        world.prepare()
    assert caught.value.code is Code.BRANCH_EXISTS
    assert git(world.project, "rev-parse", BRANCH) == theirs
    assert not world.path.exists()


def test_a_branch_checked_out_by_the_user_is_a_sentence(world: World):
    """A finished task's branch in the main checkout blocks its next run, and the error has the remedy."""
    remove_worktree(world.prepare())
    git(world.project, "switch", "-q", BRANCH)
    with pytest.raises(GitError) as caught:
        world.prepare()
    assert caught.value.code is Code.BRANCH_EXISTS and caught.value.hint


def test_a_branch_named_like_the_prefix_is_a_sentence(world: World):
    """Git cannot have both ostler and ostler/x; the message names the setting."""
    git(world.project, "branch", "ostler")
    with pytest.raises(GitError) as caught:
        world.prepare()
    assert caught.value.code is Code.BRANCH_EXISTS
    assert "branch_prefix" in caught.value.hint


def test_files_of_unknown_origin_are_not_deleted(world: World):
    """A directory at that path that was never a worktree is reported and kept."""
    world.path.mkdir(parents=True)
    (world.path / "precious").write_text("p")
    with pytest.raises(GitError) as caught:
        world.prepare()
    assert caught.value.code is Code.WORKTREE_LOST
    assert (world.path / "precious").exists()


def test_a_directory_in_the_place_of_a_pruned_worktree_is_not_adopted(world: World):
    """Its missing files would be committed as deleted."""
    worktree = world.prepare()
    shutil.rmtree(world.path)
    shutil.rmtree(worktree.repository.git_dir)
    world.path.mkdir()
    (world.path / "precious").write_text("p")
    with pytest.raises(GitError) as caught:
        world.prepare()
    assert caught.value.code is Code.WORKTREE_LOST and "is not a worktree" in caught.value.message
    assert (world.path / "precious").exists()


def test_the_users_missing_worktrees_stay_registered(world: World, tmp_path: Path):
    """A worktree on a disk that is not mounted is not touched."""
    git(world.project, "worktree", "add", "-q", "-b", "usb", str(tmp_path / "usb"))
    shutil.rmtree(tmp_path / "usb")
    remove_worktree(world.prepare())
    assert registered(world.repository) == ["usb"]


def test_removed_is_gone_and_the_branch_stays(world: World):
    """Only the branch is left; a second removal is not an error."""
    worktree = world.prepare()
    commit = commit_step(worktree).commit
    assert remove_worktree(worktree) == 0
    assert remove_worktree(worktree) == 0
    assert os.listdir(world.path.parent) == [".trash"] and os.listdir(world.path.parent / ".trash") == []
    assert not (world.project / ".git" / "worktrees" / TASK).exists()
    assert git(world.project, "rev-parse", BRANCH) == commit


def test_a_head_that_ran_ahead_is_brought_back(world: World):
    """Commits that an agent made on a detached HEAD before a crash are on the branch afterwards."""
    worktree = world.prepare()
    git(world.path, "switch", "-q", "--detach")
    (world.path / "x.txt").write_text("x")
    git(world.path, "add", "-A")
    git(world.path, "commit", "-qm", "by the agent")
    assert world.prepare(worktree.base) == worktree
    assert is_usable(world)
    assert git(world.project, "log", "-1", "--format=%s", BRANCH) == "by the agent"


def test_sparse_and_shallow_repositories(world: World, tmp_path: Path):
    """A shallow clone with a sparse checkout works like any other."""
    world.commit({"big/c.txt": "3"})
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{world.project}", str(clone))
    git(clone, "sparse-checkout", "set", "sub")
    world.project = clone
    worktree = world.prepare()
    (worktree.path / "sub" / "n.txt").write_text("n")
    commit_step(worktree)
    assert "big/c.txt" in git(clone, "ls-tree", "-r", "--name-only", BRANCH)
    assert "sub/n.txt" in git(clone, "ls-tree", "-r", "--name-only", BRANCH)


def test_a_partial_clone_whose_remote_is_gone_is_refused(world: World, tmp_path: Path):
    """The error names objects that are missing and cannot be fetched."""
    git(world.project, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-n", "--filter=blob:none", f"file://{world.project}", str(clone))
    world.project = clone
    with pytest.raises(GitError) as caught:
        world.prepare()
    assert caught.value.code is Code.GIT_CORRUPT
    assert "partial clone" in caught.value.message
