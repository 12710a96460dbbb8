"""The lock file of skills: it notices every change, and nothing but changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.config.settings import SkillsSettings
from ostler.errors import Code, OstlerError
from ostler.prompt.skill import load_skill_content
from ostler.prompt.skill_lock import LOCK, changed_since_lock, lock_of, read_lock, write_lock
from ostler.prompt.skill_place import locate
from ostler.prompt.skill_tree import digest_of, files_of
from skill_world import DEFAULT, matter, write_skill

LOCKED = SkillsSettings(locked=True)


def accept(root: Path, *names: str) -> None:
    found = {name: locate(name, root, DEFAULT)[0] for name in names}
    write_lock(
        root, {name: lock_of(place, load_skill_content(name, root, DEFAULT)) for name, place in found.items()}
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
    """A warning where nothing is locked, a refusal where everything is."""
    folder = write_skill(tmp_path, references={"a.md": "A"})
    accept(tmp_path, "copywriting")
    assert changed_since_lock("copywriting", tmp_path, DEFAULT) == ""
    assert changed_since_lock("copywriting", tmp_path, LOCKED) == ""
    change(folder)
    assert changed_since_lock("copywriting", tmp_path, DEFAULT) == (
        "the skill copywriting has changed since it was accepted; ostler skills check copywriting says more"
    )
    with pytest.raises(OstlerError, match="has changed since it was accepted") as caught:
        changed_since_lock("copywriting", tmp_path, LOCKED)
    assert caught.value.code == Code.TASK_NOT_EXECUTABLE
    assert caught.value.hint == "look at it, then: ostler skills check copywriting --accept"


def test_what_programs_leave_behind_is_no_change(tmp_path: Path) -> None:
    """Nor are times, permissions and the order in which a disk lists its files."""
    folder = write_skill(tmp_path, references={"a.md": "A", "b.md": "B"})
    before = digest_of(folder)
    for name in (".git", "scripts/__pycache__"):
        (folder / name).mkdir(parents=True)
        (folder / name / "x").write_text("x")
    (folder / ".DS_Store").write_text("x")
    (folder / "SKILL.md").chmod(0o755)
    os.utime(folder / "SKILL.md", (1, 1))
    assert digest_of(folder) == before
    other = write_skill(tmp_path / "other", references={"b.md": "B", "a.md": "A"})
    assert digest_of(other) == before


def test_names_and_contents_cannot_be_exchanged(tmp_path: Path) -> None:
    """Two files that swap their contents are a change, and so is a text that moves into a name."""
    one = write_skill(tmp_path / "1", references={"a.md": "A", "b.md": "B"})
    two = write_skill(tmp_path / "2", references={"a.md": "B", "b.md": "A"})
    three = write_skill(tmp_path / "3", references={"a.md": "Afile references/b.md", "b.md": "B"})
    assert len({digest_of(folder) for folder in (one, two, three)}) == 3


def test_links_and_pipes_are_listed_and_not_opened(tmp_path: Path) -> None:
    """A link to the whole disk costs nothing, and where it leads does not matter."""
    folder = write_skill(tmp_path)
    (folder / "disk").symlink_to("/")
    (folder / "gone").symlink_to("missing")
    os.mkfifo(folder / "pipe")
    assert list(files_of(folder)) == ["SKILL.md", "disk", "gone", "pipe"]
    assert len(digest_of(folder)) == 64


def test_without_a_lock_file_nothing_is_said_unless_it_is_wanted(tmp_path: Path) -> None:
    """A project that never accepted a skill is not nagged; one that is locked has none that it may use."""
    write_skill(tmp_path)
    assert changed_since_lock("copywriting", tmp_path, DEFAULT) == ""
    with pytest.raises(OstlerError, match=r"the skill copywriting is not in \.agents/skills\.lock"):
        changed_since_lock("copywriting", tmp_path, LOCKED)


def test_a_skill_that_the_lock_does_not_know_is_a_warning(tmp_path: Path) -> None:
    """It came after a person looked."""
    write_skill(tmp_path)
    write_skill(tmp_path, "late")
    accept(tmp_path, "copywriting")
    assert changed_since_lock("late", tmp_path, DEFAULT).startswith(f"the skill late is not in {LOCK}")


def test_a_skill_of_the_same_content_elsewhere_is_another(tmp_path: Path) -> None:
    """One that comes before the accepted one takes its place, so it is noticed."""
    write_skill(tmp_path, place=".claude/skills")
    accept(tmp_path, "copywriting")
    write_skill(tmp_path)
    assert "has changed" in changed_since_lock("copywriting", tmp_path, DEFAULT)


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
    """As the skill itself says."""
    write_skill(tmp_path, text=matter(lines))
    accept(tmp_path, "copywriting")
    assert (read_lock(tmp_path) or {})["copywriting"].origin == origin


def test_the_file_is_sorted_and_stable(tmp_path: Path) -> None:
    """So that it can be committed, and a change of one skill is a change of its lines."""
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
def test_a_damaged_lock_file_is_said(tmp_path: Path, text: str) -> None:
    """It is never taken for an empty one."""
    write_skill(tmp_path)
    (tmp_path / LOCK).write_text(text, "latin-1")
    with pytest.raises(OstlerError) as caught:
        changed_since_lock("copywriting", tmp_path, DEFAULT)
    assert caught.value.code == Code.CONFIG_INVALID and LOCK in caught.value.message
    assert "\n" not in caught.value.message
