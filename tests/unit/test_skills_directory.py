"""The files of a skill that agents can read, and the tree of them in a prompt."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.config.settings import DocumentsSettings, SkillsSettings
from ostler.errors import OstlerError
from ostler.prompt.skill_files import describe_skill_files, format_tree
from ostler.skills.content import SkillContent, load_skill_content, make_output_path
from ostler.skills.directory import LeftOutFile, SkillFile
from skill_world import DEFAULT, matter, write_skill

WHERE = ".agents/skills/copywriting"


def fill(root: Path, files: dict[str, bytes]) -> Path:
    folder = write_skill(root, references={"a.md": "A"})
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def load(root: Path, settings: SkillsSettings = DEFAULT) -> SkillContent:
    return load_skill_content("copywriting", root, settings)


def test_nested_files_are_available(tmp_path: Path) -> None:
    """Every file of the directory, with its size and kind; caches of programs are not part of it."""
    folder = fill(
        tmp_path,
        {
            "references/advisors/one.md": b"1",
            "scripts/run.py": b"#!/bin/sh\n",
            "assets/x.bin": b"\0\0",
            "scripts/__pycache__/run.pyc": b"x",
        },
    )
    (folder / "scripts/run.py").chmod(0o755)
    (folder / "assets/same.bin").symlink_to("x.bin")
    skill = load(tmp_path)
    assert {one.path: one for one in skill.files if one.path != "SKILL.md"} == {
        "assets/same.bin": SkillFile("assets/same.bin", 2, is_binary=True),
        "assets/x.bin": SkillFile("assets/x.bin", 2, is_binary=True),
        "references/a.md": SkillFile("references/a.md", 1),
        "references/advisors/one.md": SkillFile("references/advisors/one.md", 1),
        "scripts/run.py": SkillFile("scripts/run.py", 10, is_executable=True),
    }
    assert skill.has_more_files and skill.warnings == ()


def test_a_skill_that_is_in_its_prompt_has_no_more_files(tmp_path: Path) -> None:
    """Its prompt is that of the seed, without a tree."""
    fill(tmp_path, {})
    assert not load(tmp_path).has_more_files


def test_links_that_leave_the_skill_are_not_followed(tmp_path: Path) -> None:
    """Each is named with its reason, in the prompt and as a warning."""
    folder = fill(tmp_path, {"assets/x.md": b"x"})
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "assets/out").symlink_to(tmp_path / "secret.txt")
    (folder / "assets/up").symlink_to("../../../..")
    (folder / "assets/here").symlink_to(".")
    (folder / "assets/gone").symlink_to("nothing")
    os.mkfifo(folder / "assets/pipe")
    skill = load(tmp_path)
    assert skill.left_out == (
        LeftOutFile("assets/gone", "a broken symbolic link"),
        LeftOutFile("assets/here", "a symbolic link to a directory"),
        LeftOutFile("assets/out", "a symbolic link that leaves the skill's directory"),
        LeftOutFile("assets/pipe", "a device, a socket or a pipe"),
        LeftOutFile("assets/up", "a symbolic link that leaves the skill's directory"),
    )
    assert skill.warnings[2] == (
        f"{WHERE}/assets/out is a symbolic link that leaves the skill's directory; it is left out"
    )
    assert "- assets/out: a symbolic link that leaves" in describe_skill_files(skill, "/d").for_models


@pytest.mark.parametrize(
    ("limit", "left_out"),
    [
        ({"max_files": 3}, ["references/a.md"]),
        ({"max_file_bytes": 300}, ["assets/b.bin"]),
        ({"max_total_bytes": 520}, ["assets/b.bin"]),
    ],
)
def test_limits_leave_files_out(tmp_path: Path, limit: dict[str, int], left_out: list[str]) -> None:
    """Count, size and total size are bounded; what is left out is named with its setting."""
    fill(tmp_path, {"assets/a.bin": b"a" * 200, "assets/b.bin": b"b" * 400})
    skill = load(tmp_path, SkillsSettings(**limit))
    assert [one.path for one in skill.left_out] == left_out
    assert f"skills.{next(iter(limit))}" in skill.left_out[0].reason


def test_many_files_are_counted(tmp_path: Path) -> None:
    """The tree of a large skill and its warnings stay short."""
    fill(tmp_path, {f"data/{number:04}.txt": b"x" for number in range(400)})
    tree = format_tree(load(tmp_path).files, 200)
    assert len(tree) == 201 and tree[-1] == "(203 more files: list the directory)"
    (warning,) = load(tmp_path, SkillsSettings(max_files=2)).warnings
    assert ": 399 files are over the limit of 2 files (skills.max_files); they are left out" in warning


def test_the_tree_is_indented() -> None:
    """Directories once, files with their size, aligned."""
    files = (SkillFile("SKILL.md", 10), SkillFile("a/b/c.py", 2048, is_executable=True), SkillFile("a/d", 1))
    assert format_tree(files) == [
        "SKILL.md  10 B",
        "a/",
        "  b/",
        "    c.py  2.0 kB, executable",
        "  d       1 B",
    ]


def test_programs_and_models_read_files_differently(tmp_path: Path) -> None:
    """A program gets the path of the copy, a model API the name of the tool."""
    fill(tmp_path, {"forms.md": b"x"})
    note = describe_skill_files(load(tmp_path), "/work/skill")
    assert "in your working directory: /work/skill\n" in note.for_programs
    assert "read_skill_file" in note.for_models and "/work/skill" not in note.for_models
    assert "forms.md" in note.for_programs and "forms.md" in note.for_models


@pytest.mark.parametrize(("value", "suffix"), [("docx", ".docx"), (".xlsx", ".xlsx")])
def test_a_skill_defines_the_suffix_of_its_documents(tmp_path: Path, value: str, suffix: str) -> None:
    """metadata.output is the suffix of the default output path."""
    write_skill(tmp_path, text=matter(f"name: copywriting\ndescription: x\nmetadata:\n  output: {value}"))
    path = make_output_path(load(tmp_path), "t", DocumentsSettings())
    assert path == f"outputs/general/copywriting/t{suffix}"


@pytest.mark.parametrize("value", ["../x", "a/b", "DOCX", "[1]", "''"])
def test_an_invalid_suffix_is_an_error_with_its_line(tmp_path: Path, value: str) -> None:
    """One sentence with file and line."""
    write_skill(tmp_path, text=matter(f"name: copywriting\ndescription: x\nmetadata:\n  output: {value}"))
    with pytest.raises(OstlerError, match=r"SKILL\.md:5: invalid output .*: expected the suffix"):
        load(tmp_path)


def test_an_unreadable_note_is_not_needed_twice(tmp_path: Path) -> None:
    """A skill without files has an empty tree."""
    skill = replace(load_from(tmp_path), files=(), left_out=())
    assert "```" not in describe_skill_files(skill, "/d").for_models


def load_from(root: Path) -> SkillContent:
    write_skill(root)
    return load(root)
