"""The git processes that a page of changes starts: few, whatever the size of the repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.project.reviews.changes import read_changes_patch, view_blob, view_changes
from ostler.project.reviews.files import compare
from ostler.project.reviews.view import show_review
from review_world import WAITS, comment, send
from world import World

FILES = 60
PLACE = {"path": "src/m1/f1.py", "side": "new", "line": 7, "end_line": 7}
SCRIPT = f"for n in $(seq {FILES}); do seq $n 50 > src/m$((n%7))/f$n.py; done"


@pytest.fixture
def task(world: World) -> str:
    """A task with 60 changed files among 700 that waits for a review."""
    for number in range(700):
        place = Path(world.root, f"src/m{number % 7}/f{number}.py")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{number}\n" * 40)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "many")
    world.behave(edits={}, script=SCRIPT)
    world.environ |= WAITS
    made = world.new()
    world.ostler("run", made, code=4)
    return made


@pytest.fixture
def project(world: World, task: str) -> Iterator[Project]:
    with Project.open(world.root, {**os.environ, **world.environ}) as opened:
        yield opened


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The processes that were started, by their git command."""
    found: list[str] = []
    start = subprocess.Popen[bytes].__init__

    def begin(process: subprocess.Popen[bytes], argv: list[str], **options: Any) -> None:
        found.append(" ".join(argv[1:])[-100:])
        start(process, argv, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", begin)
    return found


def count(started: list[str], work: Any) -> tuple[Any, int]:
    started.clear()
    return work(), len(started)


def test_a_page_starts_few_processes(project: Project, task: str, started: list[str]) -> None:
    """At most seven for the list and one for the patch; then two, and one for each file or text."""
    name = TaskId(task)
    compare.cache_clear()
    changes, first = count(started, lambda: view_changes(project, name, 0))
    assert len(changes.files) == FILES and not changes.uncommitted
    assert 3 < first <= 7, started
    patch, of_all = count(started, lambda: read_changes_patch(project, name, 0, "", changes.head))
    assert patch.patch.count("diff --git") == FILES and of_all == 1, started
    assert count(started, lambda: view_changes(project, name, 0)) == (changes, 2)
    file = changes.files[7]
    one, of_one = count(started, lambda: read_changes_patch(project, name, 0, file.path, changes.head))
    assert one.patch.count("diff --git") == 1 and of_one == 1, started
    blob, of_blob = count(started, lambda: view_blob(project, name, file.new_blob))
    assert blob.text.endswith("50\n") and of_blob <= 2, started
    without, _ = count(started, lambda: read_changes_patch(project, name, 0, ""))
    assert without == patch


def test_a_patch_is_that_of_the_list(world: World, project: Project, task: str) -> None:
    """After a change of the files, the patch of the earlier list is the same; a new list has the change."""
    name, worktree = TaskId(task), Path(world.show(task)["worktree"])
    before = view_changes(project, name, 0)
    (worktree / "by_hand.txt").write_text("mine\n")
    assert "by_hand" not in read_changes_patch(project, name, 0, "", before.head).patch
    assert "by_hand" in read_changes_patch(project, name, 0, "").patch
    after = view_changes(project, name, 0)
    assert after.uncommitted and "by_hand.txt" in {one.path for one in after.files}
    assert "by_hand" in read_changes_patch(project, name, 0, "", after.head).patch
    (new,) = [one.new_blob for one in after.files if one.path == "by_hand.txt"]
    assert view_blob(project, name, new).text == "mine\n"
    (worktree / "by_hand.txt").unlink()
    (worktree / "src/m1/f1.py").chmod(0o755)
    assert view_changes(project, name, 0).uncommitted, "a changed mode is a change"
    (worktree / "src/m1/f1.py").chmod(0o644)
    again = view_changes(project, name, 0)
    assert (again.head, again.uncommitted) == (before.head, False)


def test_what_was_staged_is_a_change(world: World, project: Project, task: str) -> None:
    """The index of the worktree differs from the commit though its files do not differ from the index."""
    worktree = Path(world.show(task)["worktree"])
    (worktree / "staged.txt").write_text("mine\n")
    subprocess.run(["git", "add", "staged.txt"], cwd=worktree, check=True)
    assert view_changes(project, TaskId(task), 0).uncommitted


@pytest.mark.full
def test_nothing_of_a_purged_task_is_remembered(world: World, project: Project, task: str) -> None:
    """Its changes were shown before; they are refused afterwards, also with their head."""
    shown = view_changes(project, TaskId(task), 0)
    world.ostler("cancel", task)
    world.ostler("purge", task, "--yes")
    for work in (
        lambda: read_changes_patch(project, TaskId(task), 0, "", shown.head),
        lambda: view_blob(project, TaskId(task), shown.files[0].new_blob),
    ):
        with pytest.raises(UsageError, match="was purged at"):
            work()


@pytest.mark.full
def test_lines_of_comments_are_found_once(
    world: World, project: Project, task: str, started: list[str]
) -> None:
    """Of sent comments and of drafts about earlier work: saving a draft maps none of them again."""
    comment(world, task, "c1", place=PLACE)
    send(world, task)
    world.ostler("run", task, code=4)
    comment(world, task, "c2", place=PLACE)
    world.ostler("reject", task, "-m", "Once more.")
    world.ostler("run", task, code=4)
    view, first = count(started, lambda: show_review(project, TaskId(task)))
    assert [one.state for one in view.reviews[0].comments] == ["unchanged"]
    assert [one.state for one in view.drafts] == ["unchanged"] and first > 4, started
    assert count(started, lambda: show_review(project, TaskId(task))) == (view, 0), started
