"""The lock file of skills detects every change, and only changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.config.settings import SkillsSettings
from ostler.errors import Code, OstlerError
from ostler.skills.content import load_skill_content
from ostler.skills.location import locate_skill
from ostler.skills.lock import LOCK, check_lock, create_entry, read_lock, write_lock
from ostler.skills.tree import compute_digest, list_files
from skill_world import DEFAULT, matter, write_skill

LOCKED = SkillsSettings(locked=True)


def accept(root: Path, *names: str) -> None:
    found = {name: locate_skill(name, root, DEFAULT)[0] for name in names}
    write_lock(
        root,
        {name: create_entry(place, load_skill_content(name, root, DEFAULT)) for name, place in found.items()},
    )


def edit(folder: Path) -> None:
    with (folder / "SKILL.md").open("a") as file:
        file.write("\nmore")


def edit_reference(folder: Path) -> None:
    (folder / "references" / "a.md").write_text("other")


def add_script(folder: Path) -> None:
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.sh").write_text("")


def rename(folder: Path) -> None:
    (folder / "references" / "a.md").rename(folder / "references" / "b.md")


def remove(folder: Path) -> None:
    (folder / "references" / "a.md").unlink()


def link(folder: Path) -> None:
    (folder / "link").symlink_to("SKILL.md")


def link_folder(folder: Path) -> None:
    (folder / "link").symlink_to("references")


@pytest.mark.parametrize("change", [edit, edit_reference, add_script, rename, remove, link, link_folder])
def test_every_change_is_noticed(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """A warning by default, an error with skills.locked."""
    folder = write_skill(tmp_path, references={"a.md": "A"})
    accept(tmp_path, "copywriting")
    assert check_lock("copywriting", tmp_path, DEFAULT) == ""
    assert check_lock("copywriting", tmp_path, LOCKED) == ""
    change(folder)
    assert check_lock("copywriting", tmp_path, DEFAULT) == (
        "the skill copywriting has changed since it was accepted; see ostler skills check copywriting"
    )
    with pytest.raises(OstlerError, match="has changed since it was accepted") as caught:
        check_lock("copywriting", tmp_path, LOCKED)
    assert caught.value.code == Code.TASK_NOT_EXECUTABLE
    assert caught.value.hint == "review it, then run ostler skills check copywriting --accept"


def test_what_programs_leave_behind_is_no_change(tmp_path: Path) -> None:
    """Times, permissions and the order of a directory are not changes."""
    folder = write_skill(tmp_path, references={"a.md": "A", "b.md": "B"})
    before = compute_digest(folder)
    for name in (".git", "scripts/__pycache__"):
        (folder / name).mkdir(parents=True)
        (folder / name / "x").write_text("x")
    (folder / ".DS_Store").write_text("x")
    (folder / "SKILL.md").chmod(0o755)
    os.utime(folder / "SKILL.md", (1, 1))
    assert compute_digest(folder) == before
    other = write_skill(tmp_path / "other", references={"b.md": "B", "a.md": "A"})
    assert compute_digest(other) == before


def test_names_and_contents_cannot_be_exchanged(tmp_path: Path) -> None:
    """Swapped contents are a change, and so is text that moves into a name."""
    one = write_skill(tmp_path / "1", references={"a.md": "A", "b.md": "B"})
    two = write_skill(tmp_path / "2", references={"a.md": "B", "b.md": "A"})
    three = write_skill(tmp_path / "3", references={"a.md": "Afile references/b.md", "b.md": "B"})
    assert len({compute_digest(folder) for folder in (one, two, three)}) == 3


def test_links_and_pipes_are_listed_and_not_opened(tmp_path: Path) -> None:
    """The target of a link is not read."""
    folder = write_skill(tmp_path)
    (folder / "disk").symlink_to("/")
    (folder / "gone").symlink_to("missing")
    os.mkfifo(folder / "pipe")
    assert list(list_files(folder)) == ["SKILL.md", "disk", "gone", "pipe"]
    assert len(compute_digest(folder)) == 64


def test_without_a_lock_file_nothing_is_reported_unless_it_is_required(tmp_path: Path) -> None:
    """Without a lock file there is no warning; with skills.locked no skill is usable."""
    write_skill(tmp_path)
    assert check_lock("copywriting", tmp_path, DEFAULT) == ""
    with pytest.raises(OstlerError, match=r"the skill copywriting is not in \.agents/skills\.lock"):
        check_lock("copywriting", tmp_path, LOCKED)


def test_a_skill_that_the_lock_does_not_know_is_a_warning(tmp_path: Path) -> None:
    """A new skill is detected."""
    write_skill(tmp_path)
    write_skill(tmp_path, "late")
    accept(tmp_path, "copywriting")
    assert check_lock("late", tmp_path, DEFAULT).startswith(f"the skill late is not in {LOCK}")


def test_a_skill_of_the_same_content_elsewhere_is_another(tmp_path: Path) -> None:
    """A skill that shadows an accepted one is detected."""
    write_skill(tmp_path, place=".claude/skills")
    accept(tmp_path, "copywriting")
    write_skill(tmp_path)
    assert "has changed" in check_lock("copywriting", tmp_path, DEFAULT)


@pytest.mark.parametrize(
    ("lines", "origin"),
    [
        ("description: x", ".agents/skills/copywriting"),
        ("source: https://example.org/skills", "https://example.org/skills"),
        ("metadata: {repository: 'git+ssh://example.org/a.git'}", "git+ssh://example.org/a.git"),
        ("source: a friend", ".agents/skills/copywriting"),
        ("source: [https://example.org]", ".agents/skills/copywriting"),
    ],
)
def test_the_origin_is_an_address_or_the_path(tmp_path: Path, lines: str, origin: str) -> None:
    """From the front matter of the skill."""
    write_skill(tmp_path, text=matter(lines))
    accept(tmp_path, "copywriting")
    assert (read_lock(tmp_path) or {})["copywriting"].origin == origin


def test_the_file_is_sorted_and_stable(tmp_path: Path) -> None:
    """It can be committed, and one changed skill changes only its lines."""
    for name in ("b", "a", "c"):
        write_skill(tmp_path, name)
    accept(tmp_path, "b", "a", "c")
    first = (tmp_path / LOCK).read_text()
    assert list(json.loads(first)["skills"]) == ["a", "b", "c"]
    assert first.endswith("}\n") and (tmp_path / LOCK).stat().st_mode & 0o777 == 0o644
    accept(tmp_path, "c", "a", "b")
    assert (tmp_path / LOCK).read_text() == first


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 2, "skills": {}}', '{"version": 1}', "<<<<<<< ours\n{}\n", "\xff"]
)
def test_a_damaged_lock_file_is_reported(tmp_path: Path, text: str) -> None:
    """It is not treated as empty."""
    write_skill(tmp_path)
    (tmp_path / LOCK).write_text(text, "latin-1")
    with pytest.raises(OstlerError) as caught:
        check_lock("copywriting", tmp_path, DEFAULT)
    assert caught.value.code == Code.CONFIG_INVALID and LOCK in caught.value.message
    assert "\n" not in caught.value.message
