"""A branch is rebased onto its target in its worktree, deterministically, or nothing is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_world import BRANCH, agent_commits, assert_settled, commit_step, git, make_world, snapshot_of, tree
from ostler.errors import Code, GitError
from ostler.git.identity import OSTLER
from ostler.git.publish import rebase
from ostler.git.publish.merge import MergeConflict
from ostler.git.publish.rebase import (
    merge_with_conflict_markers,
    require_no_conflict_markers,
    sync_with_target,
)
from ostler.git.repository import Worktree


def bytes_of(worktree: Worktree) -> dict[str, bytes]:
    """Return all of a task's worktree: its files, its index, its HEAD and its branch."""
    state = {str(path): path.read_bytes() for path in sorted(worktree.path.rglob("*")) if path.is_file()}
    for name in ("index", "HEAD"):
        state[name] = (worktree.repository.git_dir / name).read_bytes()
    return state | {"branch": git(worktree.path, "rev-parse", BRANCH).encode()}


def test_a_target_that_stood_still_changes_nothing(tmp_path: Path):
    """The branch is already on top of its target: same tip, same bytes."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "new.txt").write_text("new")
    commit_step(worktree)
    before = bytes_of(worktree)
    synced = sync_with_target(worktree, worktree.base, "main", OSTLER)
    assert (synced.moved, synced.base) == (False, worktree.base)
    assert bytes_of(worktree) == before


def test_a_target_that_moved_is_followed(tmp_path: Path):
    """Every commit is replayed with its message, author and times; files, index and branch agree."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    agent_commits(world, "mine.txt")
    (worktree.path / "a.txt").write_text("one\nmine\n")
    commit_step(worktree)
    words = git(worktree.path, "log", "-2", "--format=%an %ae %at %cn %ct %B", BRANCH)
    onto = world.commit({"theirs.txt": "theirs", "sub/b.txt": "changed\n"}, "theirs")
    user = snapshot_of(world.project)
    synced = sync_with_target(worktree, onto, "main", OSTLER)
    assert (synced.moved, synced.base) == (True, onto)
    assert git(worktree.path, "merge-base", BRANCH, onto) == onto
    assert git(worktree.path, "log", "-2", "--format=%an %ae %at %cn %ct %B", BRANCH) == words
    assert tree(world) == {".gitignore", "a.txt", "mine.txt", "sub/b.txt", "theirs.txt"}
    assert (worktree.path / "a.txt").read_text() == "one\nmine\n"
    assert (worktree.path / "sub/b.txt").read_text() == "changed\n"
    assert_settled(world)
    assert snapshot_of(world.project) == user


def test_a_conflict_names_the_files_and_touches_nothing(tmp_path: Path):
    """Both changed one file with an unusual name: MERGE_CONFLICT, and every byte of the worktree is kept."""
    world = make_world(tmp_path)
    world.commit({"odd\nname": "x\n"})
    worktree = world.prepare()
    for name in ("a.txt", "odd\nname"):
        (worktree.path / name).write_text("mine\n")
    (worktree.path / "free.txt").write_text("free")
    commit_step(worktree)
    onto = world.commit({"a.txt": "theirs\n", "odd\nname": "theirs\n"})
    before = bytes_of(worktree)
    with pytest.raises(MergeConflict) as caught:
        sync_with_target(worktree, onto, "main", OSTLER)
    assert caught.value.code is Code.MERGE_CONFLICT
    assert set(caught.value.files) == {"a.txt", "odd\nname"}
    assert "a.txt" in caught.value.message
    assert BRANCH in caught.value.message
    assert "main" in caught.value.message
    assert bytes_of(worktree) == before


def test_what_the_target_has_already_is_left_out(tmp_path: Path):
    """The same change is already in the target: its commit is dropped, an empty checkpoint is kept."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "same.txt").write_text("same")
    commit_step(worktree, "t/1")
    commit_step(worktree, "t/2")
    onto = world.commit({"same.txt": "same", "more.txt": "more"})
    synced = sync_with_target(worktree, onto, "main", OSTLER)
    assert git(worktree.path, "rev-list", "--count", f"{onto}..{synced.tip}") == "1"
    assert "Step: t/2" in git(worktree.path, "log", "-1", "--format=%B", BRANCH)
    assert_settled(world)


def test_a_branch_with_merges_is_merged_and_loses_nothing(tmp_path: Path):
    """A replay would lose the changes of a merge commit: the target is merged instead."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    agent_commits(world, "one.txt")
    git(worktree.path, "switch", "-qc", "side", "HEAD~1")
    agent_commits(world, "two.txt")
    git(worktree.path, "switch", "-q", BRANCH)
    git(worktree.path, "merge", "-q", "--no-commit", "--no-ff", "side")
    (worktree.path / "only-in-the-merge.txt").write_text("kept")
    git(worktree.path, "add", "-A")
    git(worktree.path, "commit", "-qm", "agent: merge")
    onto = world.commit({"theirs.txt": "theirs"})
    synced = sync_with_target(worktree, onto, "main", OSTLER)
    assert {"one.txt", "two.txt", "only-in-the-merge.txt", "theirs.txt"} <= tree(world)
    assert git(worktree.path, "rev-parse", f"{synced.tip}^2") == onto
    assert_settled(world)


def test_a_branch_without_work_stays(tmp_path: Path):
    """Without its own commits there is nothing to rebase."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    onto = world.commit({"theirs.txt": "x"})
    synced = sync_with_target(worktree, onto, "main", OSTLER)
    assert (synced.tip, synced.moved, synced.contained) == (worktree.base, False, True)


def test_a_target_that_has_it_all(tmp_path: Path):
    """The branch was merged manually: it is unchanged, and so is the base of the work."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "mine.txt").write_text("mine")
    commit_step(worktree)
    git(world.project, "merge", "-q", "--no-ff", BRANCH)
    synced = sync_with_target(worktree, git(world.project, "rev-parse", "main"), "main", OSTLER)
    assert (synced.base, synced.moved, synced.contained) == (worktree.base, False, True)


def test_files_that_are_in_the_way_are_kept(tmp_path: Path):
    """A person's uncommitted file at a path of the target: the error names it, and the file is kept."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "mine.txt").write_text("mine")
    commit_step(worktree)
    (worktree.path / "theirs.txt").write_text("a person wrote this")
    onto = world.commit({"theirs.txt": "theirs"})
    before = bytes_of(worktree)
    with pytest.raises(GitError, match=r"theirs\.txt") as caught:
        sync_with_target(worktree, onto, "main", OSTLER)
    assert caught.value.code is Code.PUBLISH_FAILED
    assert bytes_of(worktree) == before


def test_ignored_files_stay(tmp_path: Path):
    """Build results in the worktree do not block the rebase."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "mine.txt").write_text("mine")
    (worktree.path / "build").mkdir()
    (worktree.path / "build/out").write_text("built")
    commit_step(worktree)
    sync_with_target(worktree, world.commit({"theirs.txt": "x"}), "main", OSTLER)
    assert (worktree.path / "build/out").read_text() == "built"


@pytest.mark.parametrize("moment", ["before a file", "after some files", "after the files"])
def test_cut_off_anywhere_it_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str):
    """Interrupted before, during or after the checkout, the next run makes the same commits."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "mine.txt").write_text("mine")
    commit_step(worktree)
    old = git(worktree.path, "rev-parse", BRANCH)
    onto = world.commit({"theirs.txt": "theirs", "sub/b.txt": "changed\n", "a.txt": "changed\n"})
    name = "_check_out" if moment == "before a file" else "reach"

    def cut(*_args: object, **_more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rebase, name, cut)
    if moment != "after some files":
        with pytest.raises(KeyboardInterrupt):
            sync_with_target(worktree, onto, "main", OSTLER)
    else:
        (worktree.path / "theirs.txt").write_text("theirs")
        (worktree.path / "a.txt").write_text("changed\n")
    monkeypatch.undo()
    assert git(worktree.path, "rev-parse", BRANCH) == old
    synced = sync_with_target(worktree, onto, "main", OSTLER)
    assert synced.moved
    assert git(worktree.path, "rev-list", "--count", f"{onto}..{BRANCH}") == "1"
    assert_settled(world)
    git(worktree.path, "reset", "-q", "--hard", old)
    assert sync_with_target(worktree, onto, "main", OSTLER).tip == synced.tip


def test_histories_without_a_common_commit(tmp_path: Path):
    """A target with an unrelated history is a conflict, not a mixture."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "mine.txt").write_text("mine")
    commit_step(worktree)
    blank = git(world.project, "commit-tree", "-m", "other", f"{worktree.base}^{{tree}}")
    with pytest.raises(GitError, match="no common commit") as caught:
        sync_with_target(worktree, blank, "main", OSTLER)
    assert caught.value.code is Code.MERGE_CONFLICT


def test_signatures_and_encodings_survive_or_go(tmp_path: Path):
    """A commit in another encoding keeps its bytes; a signature, which would be invalid, is removed."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "mine.txt").write_text("mine")
    commit_step(worktree)
    raw = git(worktree.path, "cat-file", "commit", BRANCH).split("\n\n")[0]
    header = (
        raw.encode()
        + b"\ngpgsig -----BEGIN SSH SIGNATURE-----\n abc\n -----END SSH SIGNATURE-----\nencoding latin1"
    )
    odd = git(worktree.path, "hash-object", "-t", "commit", "-w", "--stdin", stdin=header + b"\n\nf\xfcr\n")
    git(worktree.path, "update-ref", f"refs/heads/{BRANCH}", odd)
    tip = sync_with_target(worktree, world.commit({"theirs.txt": "x"}), "main", OSTLER).tip
    made = git(worktree.path, "cat-file", "commit", tip).encode(errors="surrogateescape")
    assert made.endswith(b"encoding latin1\n\nf\xfcr")
    assert b"gpgsig" not in made


def test_a_target_is_taken_in_with_its_conflicts(tmp_path: Path):
    """One merge, also after repeated calls: clean files are merged, others have both sides between marks."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "a.txt").write_text("mine\n")
    commit_step(worktree)
    onto = world.commit({"a.txt": "theirs\n", "free.txt": "free\n"})
    user = snapshot_of(world.project)
    for _ in range(2):
        merge_with_conflict_markers(worktree, onto, "merge main", OSTLER)
    assert git(worktree.path, "log", "--merges", "--format=%s", BRANCH) == "merge main"
    assert git(worktree.path, "merge-base", BRANCH, onto) == onto
    text = (worktree.path / "a.txt").read_text()
    assert text.startswith("<<<<<<< ") and "mine\n=======\ntheirs\n" in text
    assert (worktree.path / "free.txt").read_text() == "free\n"
    assert_settled(world)
    assert snapshot_of(world.project) == user


def test_marks_are_refused_until_they_are_gone(tmp_path: Path):
    """Ostler's own marks are detected by their commits; a text about marks is allowed."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "a.txt").write_text("mine\n")
    (worktree.path / "guide.md").write_text("<<<<<<< HEAD\nHeading\n=======\n>>>>>>> theirs\n")
    commit_step(worktree)
    onto = world.commit({"a.txt": "theirs\n"})
    merge_with_conflict_markers(worktree, onto, "merge main", OSTLER)
    with pytest.raises(MergeConflict) as caught:
        require_no_conflict_markers(worktree, sync_with_target(worktree, onto, "main", OSTLER), "main")
    assert (caught.value.files, caught.value.conflict_commit) == (("a.txt",), onto)
    (worktree.path / "a.txt").write_text("both\n")
    commit_step(worktree, "t/2")
    require_no_conflict_markers(worktree, sync_with_target(worktree, onto, "main", OSTLER), "main")


def test_marks_in_a_file_whose_changes_are_not_shown_are_refused(tmp_path: Path):
    """A lock file with `-diff` is not binary for a merge: its marks are detected."""
    world = make_world(tmp_path)
    world.commit({".gitattributes": "a.txt -diff\n"})
    worktree = world.prepare()
    (worktree.path / "a.txt").write_text("mine\n")
    commit_step(worktree)
    onto = world.commit({"a.txt": "theirs\n"})
    merge_with_conflict_markers(worktree, onto, "merge main", OSTLER)
    assert (worktree.path / "a.txt").read_text().startswith("<<<<<<< ")
    with pytest.raises(MergeConflict):
        require_no_conflict_markers(worktree, sync_with_target(worktree, onto, "main", OSTLER), "main")


def test_marks_in_a_file_with_the_line_ends_of_windows_are_refused(tmp_path: Path):
    """Git ends its marks like the lines around them."""
    world = make_world(tmp_path)
    world.commit({"a.txt": "one\r\n"})
    worktree = world.prepare()
    (worktree.path / "a.txt").write_bytes(b"mine\r\n")
    commit_step(worktree)
    onto = world.commit({"a.txt": "theirs\r\n"})
    merge_with_conflict_markers(worktree, onto, "merge main", OSTLER)
    assert f">>>>>>> {onto}\r\n".encode() in (worktree.path / "a.txt").read_bytes()
    with pytest.raises(MergeConflict):
        require_no_conflict_markers(worktree, sync_with_target(worktree, onto, "main", OSTLER), "main")


def test_marks_that_name_a_file_are_refused(tmp_path: Path):
    """As git writes them if one side moved the file, and with the length of an attribute."""
    world = make_world(tmp_path)
    lines = [f"line {number}\n" for number in range(20)]
    world.commit({"old.txt": "".join(lines), ".gitattributes": "*.txt conflict-marker-size=9\n"})
    worktree = world.prepare()
    (worktree.path / "old.txt").rename(worktree.path / "new.txt")
    (worktree.path / "new.txt").write_text("".join(["mine\n", *lines[1:]]))
    commit_step(worktree)
    onto = world.commit({"old.txt": "".join(["theirs\n", *lines[1:]])})
    merge_with_conflict_markers(worktree, onto, "merge main", OSTLER)
    assert f">>>>>>>>> {onto}:old.txt\n" in (worktree.path / "new.txt").read_text()
    with pytest.raises(MergeConflict):
        require_no_conflict_markers(worktree, sync_with_target(worktree, onto, "main", OSTLER), "main")


def test_work_that_takes_marks_out_of_the_target_passes(tmp_path: Path):
    """Marks of the target are not the task's: a task that removes some passes."""
    world = make_world(tmp_path)
    mark = "0" * 40
    world.commit({"a.txt": f"<<<<<<< {mark}\none\n=======\ntwo\n>>>>>>> {mark}\n"})
    worktree = world.prepare()
    (worktree.path / "a.txt").write_text("one\n")
    commit_step(worktree)
    require_no_conflict_markers(worktree, sync_with_target(worktree, worktree.base, "main", OSTLER), "main")


def test_a_run_that_dies_while_it_takes_the_target_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The files are written and the branch has not moved: the next run completes it with one merge."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "a.txt").write_text("mine\n")
    commit_step(worktree)
    onto = world.commit({"a.txt": "theirs\n", "free.txt": "free\n"})

    def die(place: str) -> None:
        raise KeyboardInterrupt(place)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(rebase, "reach", die)
        merge_with_conflict_markers(worktree, onto, "merge main", OSTLER)
    merge_with_conflict_markers(worktree, onto, "merge main", OSTLER)
    assert git(worktree.path, "rev-list", "--count", "--merges", BRANCH) == "1"
    assert_settled(world)
