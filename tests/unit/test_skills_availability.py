"""What `ostler skills check` reports: rules of the format, missing files, programs and packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.project.skills import check_skills
from skill_world import DEFAULT, matter, write_skill

WHERE = ".agents/skills/copywriting"
FIELDS = "name: copywriting\ndescription: x"


def notes(root: Path, path: str = "/usr/bin:/bin") -> list[str]:
    (checked,) = check_skills(root, DEFAULT, "copywriting", {"PATH": path})
    assert checked.problem == ""
    return [str(one).removeprefix(f"{WHERE}/") for one in checked.availability]


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ("description: x", "SKILL.md:1: no name: the format requires the name of the directory"),
        ("name: Copy_Writing\ndescription: x", "SKILL.md:2: invalid name 'Copy_Writing': expected 1 to 64"),
        ("name: copy--writing\ndescription: x", "SKILL.md:2: invalid name 'copy--writing'"),
        (f"name: {'a' * 65}\ndescription: x", "SKILL.md:2: invalid name"),
        ("name: 7\ndescription: x", "SKILL.md:2: invalid name 7"),
        (f"name: a\ndescription: {'x' * 1025}", "SKILL.md:3: the description has 1025 characters"),
        (f"{FIELDS}\ncompatibility: {'x' * 501}", "SKILL.md:4: the compatibility has 501 characters"),
        (f"{FIELDS}\ncompatibility: [a]", "SKILL.md:4: invalid compatibility: expected text"),
        (f"{FIELDS}\nmetadata: text", "SKILL.md:4: invalid metadata: expected lines"),
        (f"{FIELDS}\nmetadata:\n  a: [1]", "SKILL.md:4: invalid metadata.a: expected text"),
        (f"{FIELDS}\ncompatibility: ''", "SKILL.md:4: the compatibility is empty"),
        (f"{FIELDS}\nallowed-tools: [1]", "SKILL.md:4: invalid allowed-tools"),
        (f"{FIELDS}\nallowed-tools: 1", "SKILL.md:4: invalid allowed-tools"),
        (f"{FIELDS}\nversion: 1", "SKILL.md:4: the key version is not part of the format"),
    ],
)
def test_rules_of_the_format(tmp_path: Path, fields: str, note: str) -> None:
    """Each has its line."""
    write_skill(tmp_path, text=matter(fields))
    assert any(one.startswith(note) for one in notes(tmp_path)), notes(tmp_path)


@pytest.mark.parametrize(
    "fields",
    [
        f"{FIELDS}\nallowed-tools: Bash(git:*) Read",
        f"{FIELDS}\nallowed-tools:\n  - Bash(git:*)\n  - Read",
    ],
)
def test_allowed_tools_are_a_text_or_a_list(tmp_path: Path, fields: str) -> None:
    """The format allows both; the only note is that Ostler does not apply them."""
    write_skill(tmp_path, text=matter(fields))
    assert notes(tmp_path) == [
        "SKILL.md:4: allowed-tools is not applied: the permissions of the executor are"
    ]


def test_a_name_has_letters_of_any_language(tmp_path: Path) -> None:
    """As the validator of the format allows; capitals are refused."""
    write_skill(tmp_path, name="größen-2", text=matter("name: größen-2\ndescription: x"))
    (checked,) = check_skills(tmp_path, DEFAULT, "größen-2")
    assert checked.availability == ()
    write_skill(tmp_path, name="Größen", text=matter("name: Größen\ndescription: x"))
    (checked,) = check_skills(tmp_path, DEFAULT, "Größen")
    assert "invalid name 'Größen'" in str(checked.availability[0])


def test_notes_are_in_the_order_of_the_lines(tmp_path: Path) -> None:
    """Also those of unknown keys, which were in a random order."""
    keys = [f"key{number}" for number in range(12)]
    fields = "\n".join(["version: 1", *FIELDS.splitlines(), *(f"{key}: x" for key in keys)])
    write_skill(tmp_path, text=matter(fields))
    named = [one.partition("the key ")[2].partition(" ")[0] for one in notes(tmp_path)]
    assert named == ["version", *keys]


def test_a_complete_skill_has_no_notes(tmp_path: Path) -> None:
    """All fields of the format, at their limits."""
    fields = f"name: copywriting\ndescription: {'x' * 1024}\nlicense: MIT\ncompatibility: {'x' * 500}"
    write_skill(tmp_path, text=matter(f"{fields}\nmetadata:\n  version: '1'"))
    assert notes(tmp_path) == []


def test_scripts_are_checked(tmp_path: Path) -> None:
    """Not executable, without an interpreter, without a package; modules of the skill itself are found."""
    folder = write_skill(tmp_path, text=matter(FIELDS))
    (folder / "scripts").mkdir()
    (folder / "scripts/own.py").write_text("import json\n")
    script = folder / "scripts/run.py"
    script.write_text("#!/usr/bin/env python3\nimport json, own\nfrom no_such_package.x import y\n")
    other = folder / "scripts/go"
    other.write_text("#!/usr/bin/env no-such-program\n")
    other.chmod(0o755)
    found = notes(tmp_path)
    assert found[0].startswith("scripts: a model API cannot run scripts")
    assert found[1].startswith("scripts/run.py:1: not executable")
    assert found[2:] == [
        "scripts/go:1: needs no-such-program, which is not installed",
        "scripts/run.py:3: the module no_such_package is not installed for python3; "
        "install it in .venv of the project",
    ]


def test_missing_files_of_nested_references_are_found(tmp_path: Path) -> None:
    """With file and line; paths are relative to the file or to the skill; addresses are not checked."""
    folder = write_skill(tmp_path, text=matter(FIELDS, "Run `python3 scripts/gone.py --x`."))
    (folder / "references/deep").mkdir(parents=True)
    text = "[a](b.md) [c](https://example.org/x.md) [d](#top)\n[e](../../forms.md)\n`assets/x.png`"
    (folder / "references/deep/a.md").write_text(text)
    (folder / "references/deep/b.md").write_text("b")
    assert notes(tmp_path) == [
        "references/deep/a.md:2: ../../forms.md does not exist",
        "references/deep/a.md:3: assets/x.png does not exist",
    ]
    (checked,) = check_skills(tmp_path, DEFAULT, "copywriting")
    assert checked.warnings == (f"{WHERE}/SKILL.md:5: scripts/gone.py does not exist",)


def test_links_in_code_and_with_spaces(tmp_path: Path) -> None:
    """Examples of Markdown are no links of the skill; %20 and <> are for paths with spaces."""
    text = """\
[a](two%20words.md) [b](<two words.md>) `[c](url)`
```markdown
[d](url) and ![e](img.png)
```
[f](gone%20too.md) and [g](<gone twice.md>)"""
    folder = write_skill(tmp_path, text=matter(FIELDS, text))
    (folder / "two words.md").write_text("x")
    (checked,) = check_skills(tmp_path, DEFAULT, "copywriting")
    assert checked.warnings == (
        f"{WHERE}/SKILL.md:9: gone too.md does not exist",
        f"{WHERE}/SKILL.md:9: gone twice.md does not exist",
    )


def test_binary_files_are_named(tmp_path: Path) -> None:
    """A model API cannot read them; many are counted."""
    folder = write_skill(tmp_path, text=matter(FIELDS))
    for number in range(7):
        (folder / f"{number}.bin").write_bytes(b"\0")
    assert notes(tmp_path)[0] == "0.bin: binary: a model API cannot read it"
    assert notes(tmp_path)[5] == f"{WHERE}: 2 more binary files that a model API cannot read"
