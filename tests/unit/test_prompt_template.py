"""Templates: lookup, strict variables, one pass of replacement."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.errors import Code, UsageError
from ostler.model.plan import BUILT_IN_PHASES, DOCUMENT_PHASE
from ostler.prompt.template import (
    BUILT_IN,
    GENERAL,
    Template,
    check_template,
    list_variables,
    load_built_in,
    load_template,
    render_template,
)
from ostler.prompt.variables import KNOWN

VALUES = {"TASK_ID": "gate-ab12", "TASK_TITLE": "Mend the gate", "PHASE": "test"}


def write_own(root: Path, phase: str, text: str | bytes) -> None:
    folder = root / ".agents" / "prompts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{phase}.md").write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("no variable", "no variable"),
        ("{{TASK_ID}}: {{TASK_TITLE}}", "gate-ab12: Mend the gate"),
        ("{{ TASK_ID }}", "gate-ab12"),
        ("{{TASK_ID}}{{TASK_ID}}", "gate-ab12gate-ab12"),
        ("[{{SPEC_CONTENT}}]", "[]"),
        ("a\n\n{{SPEC_CONTENT}}\n\nb", "a\n\nb"),
        ("a\n{{SPEC_CONTENT}}\nb", "a\nb"),
        ("a\n\n{{SPEC_CONTENT}}", "a\n\n"),
        ("a\n\n{{TASK_ID}}\n\nb", "a\n\ngate-ab12\n\nb"),
        ("{{#PHASE}}in {{PHASE}}{{/PHASE}}.", "in test."),
        ("{{#SPEC_CONTENT}}in {{PHASE}}{{/SPEC_CONTENT}}.", "."),
        ("a\n\n{{#PHASE}}\n## B\n\n{{/PHASE}}\nc", "a\n\n## B\n\nc"),
        ("a\n\n{{#SPEC_CONTENT}}\n## B\n\n{{/SPEC_CONTENT}}\nc", "a\n\nc"),
        ("{{#PHASE}}a{{#TASK_ID}}b{{/TASK_ID}}c{{/PHASE}}d", "abcd"),
        ("{{#PHASE}}a{{#SPEC_CONTENT}}b{{/SPEC_CONTENT}}c{{/PHASE}}d", "acd"),
        ("{{#SPEC_CONTENT}}a{{#PHASE}}b{{/PHASE}}c{{/SPEC_CONTENT}}d", "d"),
        ("{{#SPEC_CONTENT}}a{{#SPEC_CONTENT}}b{{/SPEC_CONTENT}}c{{/SPEC_CONTENT}}d", "d"),
        ("${{ secrets.KEY }} {{}} {{ {x} }} {TASK_ID}", "${{ secrets.KEY }} {{}} {{ {x} }} {TASK_ID}"),
        ("{{{TASK_ID}}}", "{gate-ab12}"),
    ],
)
def test_rendering(text: str, expected: str) -> None:
    """Values, empty values without a gap, sections, and other braces."""
    assert render_template(text, VALUES) == expected


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("{{TASK_IDD}}", 1, "did you mean TASK_ID?"),
        ("ok {{TASK_ID}}\n\n  {{task_title}}", 3, "did you mean TASK_TITLE?"),
        ("\n{{TASK-ID}}", 2, "did you mean TASK_ID?"),
        ("{{#XYZZY}}a{{/XYZZY}}", 1, "unknown variable {{XYZZY}}"),
        ("a\n{{#PHASE}}\nb", 2, "{{#PHASE}} is not closed"),
        ("a\n{{/PHASE}}\nb", 2, "{{/PHASE}} closes no open section"),
        ("{{#PHASE}}\n{{#WEIGHT}}\n{{/PHASE}}\n{{/WEIGHT}}", 3, "{{/PHASE}} closes no open section"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    """An unknown variable is an error when the template is loaded (C103)."""
    write_own(tmp_path, "test", text)
    with pytest.raises(UsageError) as caught:
        load_template("test", "", tmp_path)
    first = caught.value.message.splitlines()[0]
    assert first.startswith(f".agents/prompts/test.md:{line}: ") and words in first
    assert caught.value.code is Code.CONFIG_INVALID and "TASK_ID" in caught.value.hint


def test_all_mistakes_are_reported_at_once_within_reason() -> None:
    """One line each, at most twenty."""
    with pytest.raises(UsageError) as two:
        check_template(Template("{{A1}}\n{{B1}}", "x.md"))
    assert [line[:7] for line in two.value.message.splitlines()] == ["x.md:1:", "x.md:2:"]
    with pytest.raises(UsageError) as many:
        check_template(Template("{{A1}}\n" * 999, "x.md"))
    assert len(many.value.message.splitlines()) == 20


def test_an_unchecked_text_is_checked_before_it_is_rendered() -> None:
    """Rendering checks too."""
    with pytest.raises(UsageError, match="template:1: unknown variable"):
        render_template("{{NOPE}}", VALUES)


def test_lookup_goes_from_the_phase_over_the_project_to_ours(tmp_path: Path) -> None:
    """C104: inline text, .agents/prompts, built-in, and the general one for an unknown phase."""
    assert load_template("test", "", tmp_path) == load_built_in("test")
    assert load_template("test_e2e", "", tmp_path) == load_built_in(GENERAL)
    write_own(tmp_path, "test", "Ours: {{TASK_ID}}")
    write_own(tmp_path, "test_e2e", "Browser.")
    assert load_template("test", " \n", tmp_path) == Template("Ours: {{TASK_ID}}", ".agents/prompts/test.md")
    assert load_template("test_e2e", "", tmp_path).text == "Browser."
    assert load_template("test", "Mine.", tmp_path) == Template("Mine.", "phase test")


def test_a_mistake_in_an_inline_text_names_its_phase(tmp_path: Path) -> None:
    """Inline text has no file; the error has the phase and the line."""
    with pytest.raises(UsageError, match="phase test:2: unknown variable"):
        load_template("test", "a\n{{NOPE}}", tmp_path)


@pytest.mark.parametrize("phase", ["", "../implement", "a/b", ".hidden", "a b", "test\n", "x" * 41, "ü"])
def test_a_phase_is_no_path(tmp_path: Path, phase: str) -> None:
    """A name that could leave the folder is refused before any lookup."""
    with pytest.raises(UsageError, match="invalid phase name"):
        load_template(phase, "", tmp_path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b" \n\n"])
def test_an_unreadable_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    """An empty prompt would give the agent no task."""
    write_own(tmp_path, "test", content)
    with pytest.raises(UsageError, match=r"test\.md"):
        load_template("test", "", tmp_path)


def test_a_file_from_another_editor_is_read(tmp_path: Path) -> None:
    """A byte order mark and carriage returns have no effect."""
    write_own(tmp_path, "test", b"\xef\xbb\xbf{{#SPEC_CONTENT}}\r\nx\r\n{{/SPEC_CONTENT}}\r\ny\r\n")
    assert render_template(load_template("test", "", tmp_path).text, {}) == "y\n"


def test_every_built_in_template_is_in_the_package() -> None:
    """The list and the folder agree, and each uses only known variables."""
    assert {path.stem for path in BUILT_IN.glob("*.md")} == BUILT_IN_PHASES | {GENERAL, DOCUMENT_PHASE}
    for phase in (*BUILT_IN_PHASES, GENERAL):
        check_template(load_built_in(phase))
        assert list_variables(load_built_in(phase)) >= {"TASK_TITLE", "TASK_DESCRIPTION", "WORKTREE_PATH"}


names = st.sampled_from(sorted(KNOWN))
values = st.text(alphabet="{}#/ \nTASKIDa", max_size=30) | names.map(lambda name: f"{{{{{name}}}}}")


@given(st.lists(st.tuples(st.text(alphabet="ab \n", max_size=9), names), max_size=9), st.data())
def test_a_value_is_never_looked_at_again(pieces: list[tuple[str, str]], data: st.DataObject) -> None:
    """E6: the text of a value is in the prompt, verbatim and in order."""
    variables = {name: data.draw(values.filter(bool)) for _, name in pieces}
    text = "".join(f"{before}{{{{{name}}}}}" for before, name in pieces)
    assert render_template(text, variables) == "".join(before + variables[name] for before, name in pieces)


@given(st.lists(names, max_size=9), st.sets(names))
def test_what_a_section_hides_depends_on_its_value_alone(sections: list[str], given_values: set[str]) -> None:
    """Adjacent sections: each appears exactly when its variable has a value."""
    text = "".join(f"{{{{#{name}}}}}<{name}>{{{{/{name}}}}}" for name in sections)
    shown = "".join(f"<{name}>" for name in sections if name in given_values)
    assert render_template(text, dict.fromkeys(given_values, "v")) == shown


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "piece",
    [
        "{{",
        "{{ ",
        "{{TASK_ID",
        "{{#",
        "{{a{{",
        "\n{{",
        "{{TASK_ID}}",
        "\n{{TASK_ID}}\n",
        "{{#PHASE}}x{{/PHASE}}",
    ],
)
def test_a_long_template_takes_no_time(piece: str) -> None:
    """A megabyte of the worst input takes linear time."""
    text = piece * (1_000_000 // len(piece))
    begun = time.monotonic()
    render_template(text, {"TASK_ID": "{{TASK_ID}}", "PHASE": "p"})
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("kind", ["directory", "broken link", "binary"])
def test_a_file_that_is_no_template_is_one_sentence(kind: str, tmp_path: Path) -> None:
    """The built-in template does not replace what cannot be read."""
    file = tmp_path / ".agents" / "prompts" / "implement.md"
    file.parent.mkdir(parents=True)
    if kind == "directory":
        file.mkdir()
    elif kind == "broken link":
        file.symlink_to("/nowhere")
    else:
        file.write_bytes(b"\xff")
    message = "not UTF-8 text" if kind == "binary" else "is not a regular file"
    with pytest.raises(UsageError, match=rf"implement\.md:? {message}$"):
        load_template("implement", "", tmp_path)
