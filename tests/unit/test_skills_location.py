"""Where skills are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.settings import SkillsSettings
from ostler.errors import Code, OstlerError
from ostler.skills.content import load_skill_content
from ostler.skills.location import find_skills, locate_skill
from skill_world import DEFAULT, matter, write_skill


def names(root: Path, settings: SkillsSettings = DEFAULT) -> dict[str, str]:
    return {place.name: place.path for place in find_skills(root, settings)}


def refusal(root: Path, name: str, settings: SkillsSettings = DEFAULT) -> OstlerError:
    with pytest.raises(OstlerError) as caught:
        load_skill_content(name, root, settings)
    assert "\n" not in caught.value.message
    return caught.value


def test_places_come_in_their_order(tmp_path: Path) -> None:
    """.agents before .claude before the settings; a shadowed skill is named in a warning."""
    further = SkillsSettings(paths=("more", f"{tmp_path}/far/"))
    root = tmp_path / "project"
    for place in (".agents/skills", ".claude/skills", "more"):
        write_skill(root, "a", matter("description: x"), place=place)
    write_skill(root, "b", place=".claude/skills")
    write_skill(root, "c", place="more")
    write_skill(tmp_path, "d", place="far")
    assert names(root, further) == {
        "a": ".agents/skills/a/SKILL.md",
        "b": ".claude/skills/b/SKILL.md",
        "c": "more/c/SKILL.md",
        "d": f"{tmp_path}/far/d/SKILL.md",
    }
    assert load_skill_content("d", root, further).path == f"{tmp_path}/far/d/SKILL.md"
    assert load_skill_content("a", root, further).warnings == (
        ".claude/skills/a/SKILL.md is not used: .agents/skills/a/SKILL.md has precedence",
        "more/a/SKILL.md is not used: .agents/skills/a/SKILL.md has precedence",
    )


def test_a_home_directory_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ~ for the home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    write_skill(tmp_path, "mine", place="skills")
    assert names(tmp_path / "project", SkillsSettings(paths=("~/skills",))) == {
        "mine": "~/skills/mine/SKILL.md"
    }


def test_what_is_no_skill_is_not_found(tmp_path: Path) -> None:
    """Files, hidden directories, directories without a SKILL.md, and missing folders."""
    assert names(tmp_path) == {}
    home = tmp_path / ".agents" / "skills"
    write_skill(tmp_path, "real")
    write_skill(tmp_path, ".hidden")
    (home / "empty").mkdir()
    (home / "README.md").write_text("x")
    (home / "link-to-file").symlink_to("README.md")
    assert list(names(tmp_path)) == ["real"]
    assert refusal(tmp_path, "empty").code == Code.SKILL_NOT_FOUND


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/etc", "a\\b", ".hidden", "a\nb", "a\0b", " a", "\u202ea", "x" * 129],
)
def test_a_name_that_could_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    """Before any lookup."""
    error = refusal(tmp_path, name)
    assert error.code == Code.SKILL_NOT_FOUND and "invalid skill name" in error.message
    assert error.message.isprintable()


def test_letters_must_be_the_same(tmp_path: Path) -> None:
    """Names are case-sensitive everywhere; the error has the right ones."""
    write_skill(tmp_path, "Copy-Writing")
    assert refusal(tmp_path, "copy-writing").hint == "did you mean Copy-Writing?"
    folder = write_skill(tmp_path, "lower")
    (folder / "SKILL.md").rename(folder / "skill.md")
    assert list(names(tmp_path)) == ["Copy-Writing", "lower"]
    assert refusal(tmp_path, "lower").message == ".agents/skills/lower/skill.md must be named SKILL.md"


def test_the_next_step_fits_the_project(tmp_path: Path) -> None:
    """Without any skill, and without a similar name."""
    assert refusal(tmp_path, "x").hint == "create .agents/skills/x/SKILL.md"
    write_skill(tmp_path)
    assert refusal(tmp_path, "zzz").hint == "run ostler skills list to see all skills"


def test_a_link_inside_the_project_is_followed(tmp_path: Path) -> None:
    """Installers link .claude/skills to .agents/skills; that is one skill, not two."""
    write_skill(tmp_path)
    (tmp_path / ".claude" / "skills").mkdir(parents=True)
    (tmp_path / ".claude" / "skills" / "copywriting").symlink_to("../../.agents/skills/copywriting")
    assert load_skill_content("copywriting", tmp_path, DEFAULT).warnings == ()
    assert len(locate_skill("copywriting", tmp_path, DEFAULT)) == 2


@pytest.mark.parametrize("linked", [".agents", ".agents/skills", ".agents/skills/copywriting"])
def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path, linked: str) -> None:
    """For a link at any level of the path."""
    root, outside = tmp_path / "project", tmp_path / "outside"
    write_skill(outside)
    link = root / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / linked)
    error = refusal(root, "copywriting")
    assert error.code == Code.PATH_ESCAPE
    assert error.message == (
        f".agents/skills/copywriting leads out of {root}, to {outside}/.agents/skills/copywriting"
    )


def test_a_link_out_of_a_place_of_the_settings_is_not_followed(tmp_path: Path) -> None:
    """The folder may be anywhere, and a link; its content may not leave it."""
    write_skill(tmp_path, "kept", place="collection")
    write_skill(tmp_path, "other", place="elsewhere")
    (tmp_path / "collection" / "other").symlink_to("../elsewhere/other")
    (tmp_path / "linked").symlink_to("collection")
    root, printed = tmp_path / "project", SkillsSettings(paths=(f"{tmp_path}/linked",))
    assert load_skill_content("kept", root, printed).name == "kept"
    assert refusal(root, "other", printed).code == Code.PATH_ESCAPE


def test_a_link_that_leads_nowhere_is_reported(tmp_path: Path) -> None:
    """A dangling link, and one to itself."""
    home = tmp_path / ".agents" / "skills"
    home.mkdir(parents=True)
    (home / "gone").symlink_to("missing")
    (home / "loop").symlink_to("loop")
    assert list(names(tmp_path)) == ["gone", "loop"]
    for name in ("gone", "loop"):
        error = refusal(tmp_path, name)
        assert error.message == f".agents/skills/{name} is a broken symbolic link"
