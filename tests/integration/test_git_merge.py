"""Merging into a local branch that is not checked out, and refusing to move one that is."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from git_world import BRANCH, World, commit_step, git, make_world, snapshot_of
from ostler.errors import Code, GitError
from ostler.git.identity import OSTLER, Identity
from ostler.git.publish import fast_forward
from ostler.git.publish import merge as module
from ostler.git.publish.merge import MergeConflict, merge_branch

UNA = Identity("Una User", "una@example.org")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A task's commit on its branch; the user works on another branch than the target, with changes."""
    made = make_world(tmp_path)
    worktree = made.prepare()
    (worktree.path / "mine.txt").write_text("mine")
    commit_step(worktree)
    git(made.project, "switch", "-qc", "elsewhere")
    (made.project / "a.txt").write_text("the user is at work\n")
    (made.project / "untracked").write_text("x")
    return made


def merge_main(world: World) -> module.MergeResult:
    return merge_branch(world.repository, BRANCH, "main", UNA, "Merge ostler/fix-login-ab12")


def without_main(world: World) -> dict[str, bytes]:
    state = snapshot_of(world.project)
    refs = [line for line in state["refs"].split(b"\n") if not line.startswith(b"refs/heads/main ")]
    return state | {"refs": b"\n".join(refs)}


def move_main(world: World, files: dict[str, str]) -> str:
    """Commit to main while no checkout of the user has it."""
    other = world.root / "other"
    git(world.project, "worktree", "add", "-q", str(other), "main")
    for name, text in files.items():
        (other / name).write_text(text)
    git(other, "add", "-A")
    git(other, "commit", "-qm", "theirs")
    git(world.project, "worktree", "remove", str(other))
    return git(world.project, "rev-parse", "main")


def test_a_fast_forward(world: World):
    """The target moves to the branch's own commit, and nothing else of the user changes."""
    before = without_main(world)
    merged = merge_main(world)
    assert merged.commit == git(world.project, "rev-parse", BRANCH) == git(world.project, "rev-parse", "main")
    assert without_main(world) == before


def test_a_merge_commit(world: World):
    """The target has new commits: one merge commit with the user's name, the target's history first."""
    theirs = move_main(world, {"theirs.txt": "theirs"})
    before = without_main(world)
    merged = merge_main(world)
    assert git(world.project, "rev-parse", "main", "main^1", "main^2").split() == [
        merged.commit,
        theirs,
        git(world.project, "rev-parse", BRANCH),
    ]
    assert (
        git(world.project, "show", "-s", "--format=%an %s", "main") == "Una User Merge ostler/fix-login-ab12"
    )
    assert git(world.project, "show", "main:mine.txt", "main:theirs.txt") == "minetheirs"
    assert without_main(world) == before


def test_twice_is_once(world: World):
    """Merged again, the target is unchanged."""
    move_main(world, {"theirs.txt": "theirs"})
    first = merge_main(world)
    again = merge_main(world)
    assert (again.commit, again.adopted) == (first.commit, True)


def test_a_conflict_moves_nothing(world: World):
    """Both have another mine.txt: MERGE_CONFLICT with its name, and the target is unchanged."""
    theirs = move_main(world, {"mine.txt": "theirs"})
    with pytest.raises(MergeConflict) as caught:
        merge_main(world)
    assert caught.value.files == ("mine.txt",)
    assert git(world.project, "rev-parse", "main") == theirs


@pytest.mark.parametrize("where", ["the project", "another worktree"])
def test_a_target_that_is_checked_out_is_not_moved(world: World, where: str):
    """Its files would differ from its commit: the error has the one command to type."""
    if where == "the project":
        git(world.project, "checkout", "-q", "--", "a.txt")
        git(world.project, "switch", "-q", "main")
        place = world.project
    else:
        place = world.root / "other place"
        git(world.project, "worktree", "add", "-q", str(place), "main")
    (place / "a.txt").write_text("changed\n")
    before = snapshot_of(world.project)
    with pytest.raises(GitError) as caught:
        merge_main(world)
    assert caught.value.code is Code.PUBLISH_FAILED
    assert caught.value.hint == f"git -C {shlex.quote(str(place))} merge --no-overwrite-ignore {BRANCH}"
    assert snapshot_of(world.project) == before


@pytest.mark.parametrize("act", ["rebase", "bisect"])
def test_a_target_that_will_come_back_is_not_moved(world: World, act: str):
    """During a rebase or a bisection of the target no checkout names it, but it is in use."""
    git(world.project, "checkout", "-q", "--", "a.txt")
    git(world.project, "switch", "-q", "main")
    if act == "bisect":
        git(world.project, "bisect", "start", "-q")
        git(world.project, "switch", "-q", "--detach")
    else:
        git(world.project, "rebase", "-q", "-f", "--root", "-x", "false", check=False)
    assert git(world.project, "symbolic-ref", "-q", "HEAD", check=False) == ""
    with pytest.raises(GitError, match="checked out"):
        merge_main(world)


def test_a_target_that_moves_at_the_same_time(world: World, monkeypatch: pytest.MonkeyPatch):
    """A commit between the read and the update is detected, and both are in the target."""
    real = module.write_commit
    moves: list[str] = []

    def late(*args, **more) -> str:
        made = real(*args, **more)
        if not moves:
            moves.append(move_main(world, {"late.txt": "late"}))
        return made

    move_main(world, {"theirs.txt": "theirs"})
    monkeypatch.setattr(module, "write_commit", late)
    merge_main(world)
    assert git(world.project, "show", "main:late.txt", "main:mine.txt") == "latemine"
    assert git(world.project, "rev-parse", "main^1") == moves[0]


@pytest.mark.parametrize("name", ["nowhere", "-f", "a..b", "$(touch x)"])
def test_a_target_that_is_no_branch(world: World, name: str):
    """The error names the reason, for any name."""
    with pytest.raises(GitError, match="branch"):
        merge_branch(world.repository, BRANCH, name, OSTLER, "x")


def test_a_checked_out_target_that_moves_at_the_same_time(world: World, monkeypatch: pytest.MonkeyPatch):
    """Another task that is merged between the checks and the fast-forward is no reason to ask a person."""
    git(world.project, "checkout", "-q", "--", "a.txt")
    (world.project / "untracked").unlink()
    git(world.project, "switch", "-q", "main")
    moves: list[str] = []

    def late(point: str) -> None:
        if point == "merge.checked" and not moves:
            (world.project / "late.txt").write_text("late")
            git(world.project, "add", "late.txt")
            git(world.project, "commit", "-qm", "theirs")
            moves.append(git(world.project, "rev-parse", "main"))

    monkeypatch.setattr(fast_forward, "reach", late)
    merge_main(world)
    assert git(world.project, "show", "main:late.txt", "main:mine.txt") == "latemine"
    assert git(world.project, "rev-parse", "main^1") == moves[0]
    assert not git(world.project, "status", "--porcelain")
