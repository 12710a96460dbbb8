"""Loading of skills, and the errors of broken ones."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from ostler.config.settings import DocumentsSettings, SkillsSettings
from ostler.errors import Code, OstlerError
from ostler.skills.content import Reference, SkillContent, load_skill_content, make_output_path
from ostler.skills.location import find_skills
from skill_world import BODY, DEFAULT, SKILL, matter, write_skill
from unprivileged import unprivileged

WHERE = ".agents/skills/copywriting"


def load(root: Path, name: str = "copywriting", settings: SkillsSettings = DEFAULT) -> SkillContent:
    return load_skill_content(name, root, settings)


def describe(skill: SkillContent) -> SkillContent:
    """Return the skill without its directory, which differs."""
    return msgspec.structs.replace(skill, files=(), folder="")


def refusal(root: Path, name: str = "copywriting", settings: SkillsSettings = DEFAULT) -> OstlerError:
    with pytest.raises(OstlerError) as caught:
        load(root, name, settings)
    assert "\n" not in caught.value.message
    return caught.value


# The seed's list, 4.2.


def test_a_skill_is_its_body_and_its_references(tmp_path: Path) -> None:
    """A real skill: body and references, sorted by name."""
    write_skill(tmp_path, references={"b.md": "B\n", "a.md": "A\n", "B.md": "Upper\n"})
    assert describe(load(tmp_path)) == SkillContent(
        name="copywriting",
        description="Writes copy",
        body=BODY,
        references=(
            Reference(f"{WHERE}/references/B.md", "Upper"),
            Reference(f"{WHERE}/references/a.md", "A"),
            Reference(f"{WHERE}/references/b.md", "B"),
        ),
        squad="general",
        path=f"{WHERE}/SKILL.md",
    )


def test_the_body_has_no_front_matter_in_it(tmp_path: Path) -> None:
    """The body is not empty and does not start with the delimiters; a rule inside it stays."""
    write_skill(tmp_path)
    body = load(tmp_path).body
    assert body.startswith("# Copywriting") and "description:" not in body
    assert body.count("---") == 1


def test_a_skill_without_references_has_none(tmp_path: Path) -> None:
    """No directory, an empty one, and one with other files only are the same."""
    folder = write_skill(tmp_path)
    assert load(tmp_path).references == ()
    (folder / "references").mkdir()
    assert load(tmp_path).references == ()
    (folder / "references" / "data.json").write_text("{}")
    (folder / "references" / ".hidden.md").write_text("x")
    (folder / "references" / "deeper").mkdir()
    (folder / "references" / "deeper" / "more.md").write_text("x")
    assert (load(tmp_path).references, load(tmp_path).warnings) == ((), ())


def test_a_skill_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    """The error has the folders, and a suggestion."""
    write_skill(tmp_path)
    error = refusal(tmp_path, "copywritting")
    assert error.code == Code.SKILL_NOT_FOUND
    assert error.message == "no skill copywritting in .agents/skills, .claude/skills"
    assert error.hint == "did you mean copywriting?"


def test_a_reference_that_is_missing_is_a_warning(tmp_path: Path) -> None:
    """A missing reference is a warning; the others are loaded."""
    body = "See [a](references/a.md), [b](./references/b.md#top), [c](references/c.md), [b](references/b.md)."
    folder = write_skill(tmp_path, text=matter("description: x", f"\n{body}\n"), references={"a.md": "A"})
    (folder / "references" / "c.md").symlink_to("gone.md")
    skill = load(tmp_path)
    assert [one.name for one in skill.references] == ["a.md"]
    assert skill.warnings == (
        f"{WHERE}/SKILL.md:5: references/b.md does not exist",
        f"{WHERE}/references/c.md is a symbolic link; only regular files are read; "
        "it is left out of the prompt",
    )


# Front matter.


def test_all_other_front_matter_is_kept(tmp_path: Path) -> None:
    """Any other keys are kept and can be printed as JSON."""
    lines = (
        "name: copywriting\ndescription: >\n  Writes\n  copy\nlicense: MIT\nallowed-tools: Read, Bash(git:*)"
    )
    write_skill(tmp_path, text=matter(f"{lines}\nmetadata:\n  version: 1.5\n  on: [2026-01-01, yes]"))
    skill = load(tmp_path)
    assert (skill.description, skill.warnings) == ("Writes copy", ())
    assert skill.meta == {
        "license": "MIT",
        "allowed-tools": "Read, Bash(git:*)",
        "metadata": {"version": 1.5, "on": ["2026-01-01", "yes"]},
    }
    assert msgspec.json.decode(msgspec.json.encode(skill), type=SkillContent) == skill


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("# Just a text", "SKILL.md:1: no front matter, so no description"),
        ("---\n---\nBody", "SKILL.md:1: no description"),
        (matter("name: copywriting\ndescription: ''"), "SKILL.md:3: no description"),
        (matter("name: copywriting\ndescription: [a]"), "SKILL.md:3: no description"),
        (
            matter("description: x\nname: other"),
            "SKILL.md:3: named 'other', but its directory is copywriting",
        ),
        (matter("description: x\nname: Copywriting"), "SKILL.md:3: named 'Copywriting', but its directory"),
        (matter("name: copywriting\ndescription: so: be it"), "SKILL.md:3: put the value in quotes; it was"),
    ],
)
def test_what_is_odd_is_a_warning(tmp_path: Path, text: str, warning: str) -> None:
    """The skill is usable."""
    write_skill(tmp_path, text=text)
    (printed,) = load(tmp_path).warnings
    assert printed.startswith(f"{WHERE}/{warning}")


def test_byte_order_mark_and_line_ends_of_windows_change_nothing(tmp_path: Path) -> None:
    """The same skill, as another editor saves it."""
    write_skill(tmp_path, references={"a.md": "A\nB"})
    plain = load(tmp_path)
    windows = tmp_path / "windows"
    data = b"\xef\xbb\xbf" + SKILL.replace("\n", "\r\n").encode()
    write_skill(windows, text=data, references={"a.md": b"\xef\xbb\xbfA\r\nB\r\n"})
    assert describe(load(windows)) == describe(plain)


def test_an_empty_body_is_valid(tmp_path: Path) -> None:
    """An empty body is allowed."""
    write_skill(tmp_path, text="---\nname: copywriting\ndescription: x\n---\n\n\n")
    assert (load(tmp_path).body, load(tmp_path).warnings) == ("", ())


# Squads.


@pytest.mark.parametrize(
    ("lines", "squad"),
    [
        ("description: x", "general"),
        ("squad: creative", "creative"),
        ("metadata:\n  squad: creative", "creative"),
        ("squad: strategy\nmetadata:\n  squad: creative", "strategy"),
        ("squad: null", None),
        ("squad:", None),
        ("metadata: {squad: ~}", None),
        ("metadata: none", "general"),
    ],
)
def test_a_skill_shows_its_squad(tmp_path: Path, lines: str, squad: str | None) -> None:
    """`squad: null` differs from no squad."""
    write_skill(tmp_path, text=matter(lines))
    assert load(tmp_path).squad == squad


def test_the_settings_decide_over_the_skill(tmp_path: Path) -> None:
    """A skill of others can be assigned in the settings."""
    write_skill(tmp_path, text=matter("squad: other"))
    write_skill(tmp_path, "context", text=matter("squad: other"))
    printed = SkillsSettings(squads={"creative": ("copywriting", "design")}, foundation=("context",))
    assert load(tmp_path, settings=printed).squad == "creative"
    assert load(tmp_path, "context", printed).squad is None


@pytest.mark.parametrize("squad", ["a/b", "..", "../x", ".hidden", "7", "[a]", "'a b'", "x" * 65, '"a\\n"'])
def test_a_squad_that_is_no_folder_name_is_refused(tmp_path: Path, squad: str) -> None:
    """A squad is part of a path."""
    write_skill(tmp_path, text=matter(f"name: copywriting\nsquad: {squad}"))
    error = refusal(tmp_path)
    assert error.code == Code.CONFIG_INVALID
    assert error.message.startswith(f"{WHERE}/SKILL.md:3: ") and "invalid squad" in error.message


def test_the_output_goes_to_the_squad_or_to_the_context() -> None:
    """Both directories are settings."""
    skill, foundation = (
        SkillContent("copy", "", "", squad="creative"),
        SkillContent("base", "", "", squad=None),
    )
    documents = DocumentsSettings(context="facts", outputs="out")
    assert make_output_path(skill, "t-1", DocumentsSettings()) == "outputs/creative/copy/t-1.md"
    assert make_output_path(foundation, "t-1", DocumentsSettings()) == "context/base.md"
    assert make_output_path(skill, "t-1", documents) == "out/creative/copy/t-1.md"
    assert make_output_path(foundation, "t-1", documents) == "facts/base.md"


# Unusual files.


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"---\nname: x\n---\ncaf\xe9\n", ":4: not UTF-8 text"),
        ("text".encode("utf-16"), ":1: not UTF-8 text"),
        (b"a\nb\0c", ":2: not a text file (NUL character)"),
        (b"---\nname: x\n", ":1: the front matter that begins here is not closed by a line `---`"),
        (b"---\n- x\n---\n", ":2: front matter must be lines of `key: value`"),
        (b"---\na: 1\na: 2\n---\n", ":3: 'a' is given twice"),
        (b"---\na: &x 1\nb: *x\n---\n", ":3: aliases and tags are not allowed"),
        (b"---\na: !!python/name:os.system\n---\n", ":2: aliases and tags are not allowed"),
        (b"x" * 300_000, " is larger than 262144 bytes"),
    ],
)
def test_a_text_that_cannot_be_used_shows_where(tmp_path: Path, data: bytes, message: str) -> None:
    """One error, with the line if there is one."""
    write_skill(tmp_path, text=data)
    error = refusal(tmp_path)
    assert (error.code, error.message) == (Code.CONFIG_INVALID, f"{WHERE}/SKILL.md{message}")


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    """The limit itself is allowed."""
    write_skill(tmp_path, text="x" * 100)
    assert load(tmp_path, settings=SkillsSettings(max_skill_bytes=100)).body == "x" * 100
    assert "larger than 99 bytes" in refusal(tmp_path, settings=SkillsSettings(max_skill_bytes=99)).message


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_folder(path: Path) -> None:
    path.mkdir()


def make_link_out(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def make_link_inside(path: Path) -> None:
    (path.parent / "other.txt").write_text("x")
    path.symlink_to("other.txt")


@pytest.mark.parametrize(
    ("make", "printed"),
    [
        (make_fifo, "is a device, a socket or a pipe; only regular files are read"),
        (make_device, "is a symbolic link; only regular files are read"),
        (make_folder, "is a directory, not a file"),
        (make_link_out, "is a symbolic link; only regular files are read"),
        (make_link_inside, "is a symbolic link; only regular files are read"),
    ],
)
def test_what_is_no_plain_file_is_not_read(tmp_path: Path, make: object, printed: str) -> None:
    """As SKILL.md it is an error, as a reference a warning; it neither blocks nor is followed."""
    assert callable(make)
    folder = write_skill(tmp_path, references={"a.md": "A"})
    make(folder / "references" / "b.md")
    skill = load(tmp_path)
    assert [one.name for one in skill.references] == ["a.md"]
    assert skill.warnings == (f"{WHERE}/references/b.md {printed}; it is left out of the prompt",)
    (folder / "SKILL.md").unlink()
    make(folder / "SKILL.md")
    assert refusal(tmp_path).message == f"{WHERE}/SKILL.md {printed}"


@pytest.mark.parametrize(
    ("data", "printed"),
    [
        (b"caf\xe9", ":1: not UTF-8 text; it is left out of the prompt"),
        (b"a\0b", ":1: not a text file (NUL character); it is left out of the prompt"),
        (b"x" * 300_000, " is larger than 262144 bytes; it is left out of the prompt"),
    ],
)
def test_a_reference_that_cannot_be_used_is_left_out(tmp_path: Path, data: bytes, printed: str) -> None:
    """The skill is usable without the reference."""
    write_skill(tmp_path, references={"a.md": data, "b.md": "B"})
    skill = load(tmp_path)
    assert [one.content for one in skill.references] == ["B"]
    assert skill.warnings == (f"{WHERE}/references/a.md{printed}",)


def test_what_may_not_be_read_is_reported(tmp_path: Path) -> None:
    """The message of the operating system."""
    folder = write_skill(tmp_path, references={"a.md": "A"})
    (folder / "references" / "a.md").chmod(0)
    with unprivileged():
        printed = load(tmp_path).warnings
        (folder / "SKILL.md").chmod(0)
        refused = refusal(tmp_path).message
    assert printed == (
        f"{WHERE}/references/a.md cannot be read: permission denied; it is left out of the prompt",
    )
    assert refused == f"{WHERE}/SKILL.md cannot be read: permission denied"


def test_references_that_are_no_directory_are_left_out(tmp_path: Path) -> None:
    """A file of that name, or a link to texts elsewhere."""
    folder = write_skill(tmp_path)
    (folder / "references").write_text("x")
    assert load(tmp_path).warnings == (f"{WHERE}/references cannot be read: not a directory",)
    (folder / "references").unlink()
    (folder / "references").symlink_to(tmp_path)
    assert load(tmp_path).warnings == (f"{WHERE}/references is a symbolic link; it is left out",)


def test_more_references_than_allowed_are_cut(tmp_path: Path) -> None:
    """The first by name are used."""
    write_skill(tmp_path, references={f"{number:02}.md": "x" for number in range(12)})
    skill = load(tmp_path, settings=SkillsSettings(max_references=10))
    assert [one.name for one in skill.references] == [f"{number:02}.md" for number in range(10)]
    assert skill.warnings == (f"{WHERE}/references has 12 references; 10 are used",)


def test_a_reference_whose_name_cannot_be_printed_is_left_out(tmp_path: Path) -> None:
    """It would break the line or the JSON."""
    folder = write_skill(tmp_path, references={"a.md": "A", "b\n.md": "B"})
    with open(os.fsencode(folder) + b"/references/\xff.md", "wb"):
        pass
    skill = load(tmp_path)
    assert [one.name for one in skill.references] == ["a.md"]
    assert skill.warnings == (
        f"{WHERE}/references/'b\\n.md' has an unprintable name; it is left out",
        f"{WHERE}/references/'\\udcff.md' has an unprintable name; it is left out",
    )
    msgspec.json.encode(skill)


@settings(max_examples=examples(150))
@given(
    data=st.binary(max_size=200)
    | st.text(max_size=100).map(lambda text: f"---\n{text}\n---\nBody".encode("utf-8", "surrogatepass"))
    | st.text("-\n\r:[]{}&*!'\"#|> ax\t\ufeff\\ud80e", max_size=60).map(
        lambda text: f"---\n{text}\n---\n".encode()
    )
)
def test_any_bytes_are_a_skill_or_one_clean_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """For any SKILL.md; a loaded skill can be printed as JSON."""
    root = tmp_path_factory.getbasetemp() / "any-bytes"
    file = root / WHERE / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    try:
        msgspec.json.encode(load(root))
    except OstlerError as error:
        assert error.message.startswith(WHERE) and "\n" not in error.message


def test_a_large_collection_is_loaded_quickly(tmp_path: Path) -> None:
    """60 skills with 300 references in well under a second."""
    for number in range(60):
        lines = f"name: s{number}\ndescription: Skill {number}\nmetadata:\n  version: '1.0'\n  tags: [a, b]"
        text = matter(lines, "# Skill\n\n" + "Some words about the work.\n" * 200)
        write_skill(tmp_path, f"s{number}", text, {f"r{n}.md": "A reference.\n" * 500 for n in range(5)})
    begun = time.perf_counter()
    skills = [load(tmp_path, place.name) for place in find_skills(tmp_path, DEFAULT)]
    passed = time.perf_counter() - begun
    assert (len(skills), sum(len(one.references) for one in skills)) == (60, 300)
    assert all(not one.warnings for one in skills)
    assert passed < 10, passed
