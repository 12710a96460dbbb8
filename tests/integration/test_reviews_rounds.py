"""What changed since a review, and where its comments are, after rebases, renames and edits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_world import World, git
from ostler.model.ids import TaskId
from ostler.model.review import Comment, MappedComment, Place, Review, Side
from ostler.project.project import Project
from ostler.project.reviews.changes import find_sides_since
from ostler.project.reviews.ends import CommitsGone, Ends
from ostler.project.reviews.judged import keep_judged
from ostler.project.reviews.mapping import map_onto

TASK = TaskId("count-ab12")
FIRST = "".join(f"line {n} of the first part\n" for n in range(1, 41))


class Rounds:
    """A task whose work was reviewed, then rebased onto new commits of others, and changed."""

    def __init__(self, root: Path) -> None:
        self.world = World(root, files={"a.py": FIRST, "b.py": "one\ntwo\n", "docs/c.md": "# C\n"})
        self.base = git(self.world.project, "rev-parse", "HEAD")
        git(self.world.project, "switch", "-q", "-c", "task")

    def judge(self, files: dict[str, str]) -> str:
        return self.world.commit(files, "work")

    def rebase(self, files: dict[str, str]) -> str:
        """Let others commit, and rebase the task; return the new base."""
        git(self.world.project, "switch", "-q", "main")
        base = self.world.commit(files, "others")
        git(self.world.project, "switch", "-q", "task")
        git(self.world.project, "rebase", "-q", "-X", "theirs", "main")
        return base

    def ends(self, base: str = "") -> Ends:
        head = git(self.world.project, "rev-parse", "HEAD")
        return Ends(self.world.repository, base or self.base, head, uncommitted=False)


@pytest.fixture
def rounds(tmp_path: Path) -> Rounds:
    return Rounds(tmp_path)


@pytest.fixture
def project(rounds: Rounds) -> Iterator[Project]:
    with Project.open(rounds.world.project, {}, create=True) as project:
        yield project


def comment(name: str, path: str, line: int, end_line: int = 0, side: Side = "new") -> Comment:
    return Comment(id=name, text="Why?", place=Place(path, side, line, end_line or line))


def review_of(rounds: Rounds, commit: str, *comments: Comment) -> Review:
    return Review(
        number=1, at=1.0, by="ada", verdict="changes", commit=commit, base=rounds.base, comments=comments
    )


def changed_paths(project: Project, review: Review, ends: Ends) -> dict[str, tuple[int, int]]:
    files = find_sides_since(project, TASK, review, ends).compare(TASK).files
    return {file.path: (file.additions, file.deletions) for file in files}


def mapped(project: Project, review: Review, ends: Ends) -> dict[str, MappedComment]:
    return {one.id: one for one in map_onto(project, TASK, review, ends)}


def test_a_comment_on_all_of_the_work_is_changed_by_files_alone(rounds: Rounds, project: Project) -> None:
    """A round that commits no other file, or only what others changed, has changed nothing."""
    judged = rounds.judge({"a.py": FIRST.replace("line 20 ", "line twenty ")})
    review = review_of(rounds, judged, comment("c", "", 0))
    assert mapped(project, review, rounds.ends())["c"].state == "unchanged"
    git(rounds.world.project, "commit", "-q", "--allow-empty", "-m", "nothing")
    assert mapped(project, review, rounds.ends())["c"].state == "unchanged"
    base = rounds.rebase({"b.py": "one\nthree\n"})
    assert mapped(project, review, rounds.ends(base))["c"].state == "unchanged"
    rounds.judge({"a.py": FIRST})
    assert mapped(project, review, rounds.ends(base))["c"].state == "changed"


def test_only_the_agents_changes_since_a_review(rounds: Rounds, project: Project) -> None:
    """Also after a rebase: a plain diff of the two commits has the lines of others too."""
    judged = rounds.judge({"a.py": FIRST.replace("line 20 ", "line twenty ")})
    review = review_of(rounds, judged)
    base = rounds.rebase({"a.py": "added by others\n" * 5 + FIRST, "b.py": "one\n2\n"})
    rounds.judge({"docs/c.md": "# C\n\nmore\n"})
    assert changed_paths(project, review, rounds.ends(base)) == {"docs/c.md": (2, 0)}
    plain = git(rounds.world.project, "diff", "--name-only", judged, "HEAD").split()
    assert plain == ["a.py", "b.py", "docs/c.md"]


def test_a_conflict_with_the_new_base_is_labelled(rounds: Rounds, project: Project) -> None:
    """The left side then has conflict markers."""
    judged = rounds.judge({"a.py": FIRST.replace("line 20 ", "line twenty ")})
    base = rounds.rebase({"a.py": FIRST.replace("line 20 ", "line XX ")})
    sides = find_sides_since(project, TASK, review_of(rounds, judged), rounds.ends(base))
    assert sides.conflict and "conflicts with the new base" in sides.note
    found = mapped(project, review_of(rounds, judged, comment("x", "a.py", 21)), rounds.ends(base))
    assert found["x"].place == Place("a.py", "new", 21, 21)


def test_an_old_git_compares_with_the_lines_of_others(
    rounds: Rounds, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without merge-tree --write-tree the result has a sentence about it."""
    judged = rounds.judge({"a.py": FIRST.replace("line 20 ", "line twenty ")})
    base = rounds.rebase({"b.py": "one\n2\n"})
    rounds.judge({"docs/c.md": "# C\n\nmore\n"})
    old = tmp_path / "old" / "git"
    old.parent.mkdir()
    old.write_text(f'#!/bin/sh\n[ "$1" = merge-tree ] && exit 129\nPATH={os.environ["PATH"]} exec git "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    review = review_of(rounds, judged)
    sides = find_sides_since(project, TASK, review, rounds.ends(base))
    assert sides.note == "changes of others since review 1 are included: this needs git 2.38 or newer"
    assert changed_paths(project, review, rounds.ends(base)) == {"b.py": (1, 1), "docs/c.md": (2, 0)}


def test_comments_follow_their_lines(rounds: Rounds, project: Project) -> None:
    """Through a rebase, a rename with edits, changed lines and deleted files."""
    judged = rounds.judge({"a.py": FIRST.replace("line 20 ", "line twenty "), "new.py": "x = 1\ny = 2\n"})
    comments = (
        comment("same", "a.py", 5),
        comment("range", "a.py", 7, 9),
        comment("edited", "a.py", 20),
        comment("gone", "a.py", 30),
        comment("file", "a.py", 0),
        comment("other", "b.py", 1),
        comment("deleted", "new.py", 1),
        comment("all", "", 0),
    )
    review = review_of(rounds, judged, *comments)
    base = rounds.rebase({"a.py": "added by others\n" * 5 + FIRST, "b.py": "zero\none\ntwo\n"})
    text = (rounds.world.project / "a.py").read_text()
    text = text.replace("line twenty of the first part", "line twenty of the first part!")
    text = text.replace("line 30 of the first part\n", "").replace("line 35 ", "line thirty-five ")
    (rounds.world.project / "a.py").unlink()
    (rounds.world.project / "new.py").unlink()
    rounds.judge({"lib/renamed.py": text})
    found = mapped(project, review, rounds.ends(base))
    path = "lib/renamed.py"
    assert {name: (one.state, one.place) for name, one in found.items()} == {
        "same": ("moved", Place(path, "new", 10, 10)),
        "range": ("moved", Place(path, "new", 12, 14)),
        "edited": ("probably_changed", Place(path, "new", 25, 25)),
        "gone": ("deleted", None),
        "file": ("changed", Place(path, "new", 0, 0)),
        "other": ("unchanged", Place("b.py", "new", 2, 2)),
        "deleted": ("deleted", None),
        "all": ("changed", Place("", "new", 0, 0)),
    }
    assert found["edited"].since == ("-line twenty of the first part", "+line twenty of the first part!")
    assert found["gone"].since == ("-line 30 of the first part",)
    assert found["same"].since == found["other"].since == ()


def test_comments_on_deleted_lines(rounds: Rounds, project: Project) -> None:
    """A line of the base is at its place in the new base; it changed when the agent brought it back."""
    without = FIRST.replace("line 3 of the first part\n", "").replace("line 8 of the first part\n", "")
    judged = rounds.judge({"a.py": without})
    review = review_of(
        rounds, judged, comment("back", "a.py", 3, side="old"), comment("still", "a.py", 8, side="old")
    )
    base = rounds.rebase({"a.py": "added by others\n" + FIRST})
    text = (rounds.world.project / "a.py").read_text()
    rounds.judge(
        {
            "a.py": text.replace(
                "line 2 of the first part\n", "line 2 of the first part\nline 3 of the first part\n"
            )
        }
    )
    found = mapped(project, review, rounds.ends(base))
    assert (found["back"].state, found["back"].place) == ("changed", Place("a.py", "old", 4, 4))
    assert found["back"].since == ("+line 3 of the first part",)
    assert (found["still"].state, found["still"].place) == ("unchanged", Place("a.py", "old", 9, 9))


def test_nothing_changed(rounds: Rounds, project: Project) -> None:
    """Every comment is where it was."""
    judged = rounds.judge({"a.py": FIRST + "more\n"})
    review = review_of(rounds, judged, comment("a", "a.py", 41), comment("b", "b.py", 1), comment("c", "", 0))
    found = mapped(project, review, rounds.ends())
    assert {(one.state, one.place) for one in found.values()} == {
        ("unchanged", one.place) for one in review.comments
    }


def test_the_judged_commit_is_kept(rounds: Rounds, project: Project) -> None:
    """A rewritten branch and `git gc --prune=now` do not delete it; without the ref it is gone."""
    judged = rounds.judge({"a.py": FIRST + "judged\n"})
    dropped = rounds.judge({"b.py": "dropped\n"})
    keep_judged(project, TASK, 1, judged, rounds.base)
    keep_judged(project, TASK, 1, judged, rounds.base)
    git(rounds.world.project, "reset", "-q", "--hard", rounds.base)
    rounds.judge({"a.py": FIRST + "rewritten\n"})
    git(rounds.world.project, "reflog", "expire", "--expire=now", "--all")
    git(rounds.world.project, "gc", "-q", "--prune=now")
    refs = git(rounds.world.project, "for-each-ref", "--format=%(refname)", "refs/ostler").split()
    assert refs == [f"refs/ostler/reviews/{TASK}/1"]
    review = review_of(rounds, judged, comment("x", "a.py", 41))
    assert changed_paths(project, review, rounds.ends()) == {"a.py": (1, 1)}
    assert mapped(project, review, rounds.ends())["x"].state == "probably_changed"
    with pytest.raises(
        CommitsGone, match=f"commit {dropped[:10]} of review 1 of {TASK} is not in the repository"
    ):
        find_sides_since(project, TASK, review_of(rounds, dropped), rounds.ends())
