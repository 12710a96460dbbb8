"""Front matter of a text."""

from __future__ import annotations

import pytest

from ostler.files.front_matter import split_front_matter
from ostler.files.yaml import YamlInvalid


@pytest.mark.parametrize(
    ("text", "values", "body", "above"),
    [
        ("---\na: 1\n---\n\n\nBody\n\nmore\n\n", {"a": 1}, "Body\n\nmore", 5),
        ("--- \na: 1\n---\t\nBody", {"a": 1}, "Body", 3),
        ("---\na: 1\n---", {"a": 1}, "", 3),
        ("---\n---\nBody", {}, "Body", 2),
        ("---\n# nothing\n---\nBody", {}, "Body", 3),
        ("---\na: 1\n---\nBody\n---\nb: 2\n---\n", {"a": 1}, "Body\n---\nb: 2\n---", 3),
        ("\n\nBody\n---\n", {}, "Body\n---", 2),
        ("----\nBody", {}, "----\nBody", 0),
        ("", {}, "", 1),
    ],
)
def test_both_parts(text: str, values: object, body: str, above: int) -> None:
    """The body is unchanged, and its lines can be counted from the top of the file."""
    found = split_front_matter(text, "f.md")
    assert (found.values, found.body, found.lines_before, found.warnings) == (values, body, above, ())


def test_a_text_without_front_matter_has_none() -> None:
    """None differs from an empty front matter."""
    assert split_front_matter("Body", "f.md").document is None
    assert split_front_matter("---\n---\n", "f.md").document is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\na: 1\n", "f.md:1: the front matter that begins here is not closed by a line `---`"),
        ("---\n- a\n---\n", "f.md:2: front matter must be lines of `key: value`"),
        ("---\njust words\n---\n", "f.md:2: front matter must be lines of `key: value`"),
        ("---\na: 1\nb: *a\n---\n", "f.md:3: aliases and tags are not allowed"),
        ("---\na: 1\nb: [\n---\n", "f.md:3: expected the node content, but found '<stream end>'"),
        ("---\na: 1\n  b: 2\n---\n", "f.md:3: unexpected colon; put the text in quotes"),
    ],
)
def test_a_mistake_names_the_line_of_the_file(text: str, message: str) -> None:
    """The line is counted with the fence above it."""
    with pytest.raises(YamlInvalid) as caught:
        split_front_matter(text, "f.md")
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("about: Use this when: it's late", "Use this when: it's late"),
        ("about: Steps: one: two", "Steps: one: two"),
        ("about: it ends in a colon:", "it ends in a colon:"),
        ("about: [file] [options]", "[file] [options]"),
        ("about: [a|b] <path> [--force]", "[a|b] <path> [--force]"),
    ],
)
def test_a_value_that_lacks_its_quotes_is_read_as_text(line: str, value: str) -> None:
    """Half of the public skills have such a line; other tools drop it without a message."""
    found = split_front_matter(f"---\nname: x\n{line}\nlist: [a, b]\n---\nBody", "f.md")
    assert found.values == {"name": "x", "about": value, "list": ["a", "b"]}
    assert found.warnings == ("f.md:3: put the value in quotes; it was read as text",)


def test_what_is_right_is_not_touched() -> None:
    """Only unreadable front matter is repaired, and an alias never becomes a text."""
    lines = "a: 'x: y'\nb: \"x: y\"\nc: {d: e}\nf: http://x:1\ng: x # h: i\nj: |\n  k: l"
    found = split_front_matter(f"---\n{lines}\n---\n", "f.md")
    texts = {"a": "x: y", "b": "x: y", "f": "http://x:1", "g": "x", "j": "k: l"}
    assert found.values == {**texts, "c": {"d": "e"}}
    assert found.warnings == ()
    with pytest.raises(YamlInvalid, match="aliases"):
        split_front_matter("---\na: b: c\nd: *x\n---\n", "f.md")
