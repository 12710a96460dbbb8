"""The lines of a review's form are those of the files, for every kind of change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ostler.cli.review.changes import ShownChanges, read_changes
from ostler.cli.review.filled import read_form
from ostler.cli.review.form import Entries, FormHead, write_form
from ostler.cli.terminal.text import escape_controls
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.project.reviews.bundle import NewComment, list_drafts, save_comments
from ostler.project.reviews.changes import view_changes
from ostler.views.diff.changes import Changes
from world import World

TEXT = "".join(f"line {n}\n" for n in range(30))
BEFORE = {
    "moved.txt": TEXT,
    "edited.txt": TEXT,
    "crlf.txt": TEXT.replace("\n", "\r\n"),
    "gone.txt": "a\nb\n",
    "link.txt": "a file\n",
    "mode.sh": "#!/bin/sh\n",
    "a b/q\"uo'te ünï.txt": "one\n",
    "package-lock.json": "{}\n",
}
SCRIPT = r"""
mkdir -p sub; git mv moved.txt 'sub/moved é.txt'
sed -i 's/line 3$/LINE 3/; s/line 20$/LINE 20/' 'sub/moved é.txt'
sed -i '1d; s/line 15/! line\x1b15/; s/line 16/# line 16/; s/line 25//' edited.txt
printf 'no end' >> edited.txt; sed -i 's/line 7\r/line seven\r/' crlf.txt
rm gone.txt; rm link.txt; ln -s edited.txt link.txt; chmod +x mode.sh; touch empty.txt
printf 'two\n' >> "a b/q\"uo'te ünï.txt"; printf '\0\1\2' > binary.bin
printf '{"x":\n1}\n' > package-lock.json
printf 'diff --git a/x b/x\n@@ -1 +1 @@\n--- a\n+++ b\n' > hostile.diff
"""


def changed(world: World) -> str:
    """A task that changed files in every way."""
    for name, text in BEFORE.items():
        (world.root / name).parent.mkdir(exist_ok=True)
        (world.root / name).write_bytes(text.encode())
    (world.root / "ostler.toml").write_text('[gates.phases]\nimplement = "human"\n')
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "before")
    world.behave(script=SCRIPT, edits={})
    task = world.new("Change all")
    world.ostler("run", task, code=4)
    return task


def read_blob(world: World, commit: str, path: str) -> list[str]:
    done = subprocess.run(
        ["git", "show", f"{commit}:{path}"], cwd=world.root, capture_output=True, check=True
    )
    return done.stdout.decode().split("\n")


def test_the_lines_are_those_of_the_list_while_an_agent_works(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is written between the list and the patch is in neither."""
    task = TaskId(changed(world))
    folder = world.root / ".ostler" / "worktrees" / task

    def view_then_write(project: Project, one: TaskId, since: int) -> Changes:
        found = view_changes(project, one, since)
        (folder / "0.txt").write_text("newer\n")
        return found

    with Project.open(world.root, world.environ) as project:
        before = read_changes(project, task)
        monkeypatch.setattr("ostler.cli.review.changes.view_changes", view_then_write)
        assert read_changes(project, task) == before
        monkeypatch.undo()
        assert "0.txt" in {line.path for line in read_changes(project, task).lines}


def check_lines(world: World, shown: ShownChanges, commit: str, base: str) -> int:
    """Each line is the one of its file with its number; return how many there are."""
    renamed, count = {"sub/moved é.txt": "moved.txt"}, 0
    files: dict[tuple[str, str], list[str]] = {}
    for line in shown.lines:
        sides = ((base, line.old, renamed.get(line.path, line.path)), (commit, line.new, line.path))
        for version, number, path in sides:
            if number:
                if (version, path) not in files:
                    files[version, path] = read_blob(world, version, path)
                expected = files[version, path][number - 1].removesuffix("\r")
                assert line.text[1:] == escape_controls(expected), (line, expected)
                count += 1
    return count


def test_every_kind_of_change(world: World, tmp_path: Path) -> None:
    """Renamed, edited, deleted, linked, binary, generated, with odd names and hostile lines."""
    task = TaskId(changed(world))
    with Project.open(world.root, world.environ) as project:
        state = project.state(task)
        assert state.commit and state.base
        shown = read_changes(project, task, generated=False)
        assert check_lines(world, shown, state.commit, state.base) > 60
        assert {line.path for line in shown.lines} == {
            *({*BEFORE} - {"moved.txt"}),
            "sub/moved é.txt",
            "binary.bin",
            "hostile.diff",
            "empty.txt",
        }
        assert shown.notes == ("Not shown, since they are generated: package-lock.json",)
        comments = tuple(
            NewComment("change", shown.place_above(index), f"about {line.path} {line.text}".strip())
            for index, line in enumerate(shown.lines)
            if line.number or line.text.startswith("diff --git")
        )
        form = write_form(FormHead(state.commit), shown, Entries(comments=comments))
        assert sorted(map(repr, read_form(form, shown).comments)) == sorted(map(repr, comments))
        for number, comment in enumerate(comments):
            if number % 9 == 0 and comment.place.path not in ("gone.txt", "link.txt"):
                save_comments(project, task, state.commit, [comment])
                (saved,) = [one for one in list_drafts(project, task) if one.text == comment.text]
                if comment.place.line:
                    assert comment.text.endswith(escape_controls(saved.excerpt[0]).strip()), saved


def test_a_project_without_git(tmp_path: Path) -> None:
    """There are no lines to comment on; the decision and a message are sent."""
    world = World(tmp_path, git=False)
    (world.root / "ostler.toml").write_text('[gates.phases]\nimplement = "human"\n')
    task = world.new("Write it")
    world.ostler("run", task, code=4)
    form = world.ostler("review", task, "--print-form").stdout
    assert "not a git repository" in form and "diff --git" not in form and "approve and merge" not in form
    filled = form.replace("\nDecision:\n\nMessage:\n", "\nDecision: send back\n\nMessage:\nAgain.\n")
    world.ostler("review", task, "--form", "-", stdin=filled)
    (review,) = world.json("review", task)["reviews"]
    assert (review["text"], review["verdict"]) == ("Again.", "changes")
    assert "Review 1" in world.ostler("review", task, "--show").stdout
    world.close()
