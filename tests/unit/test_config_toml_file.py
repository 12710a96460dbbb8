"""The line of each key, checked with documents whose values are their own line numbers."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from ostler.config.source import KeyPath
from ostler.config.toml_file import key_lines, line_of

TABLE = [
    ("a = 1\nb = 2", {("a",): 1, ("b",): 2}),
    ("\n# c\n[t]\n\n  a = 1", {("t",): 3, ("t", "a"): 5}),
    ("[a.b . c]\nd.e = 1", {("a",): 1, ("a", "b"): 1, ("a", "b", "c"): 1, ("a", "b", "c", "d", "e"): 2}),
    (
        "[[m]]\nn = 1\n[[m]]\nn = 2\n[m.s]\nx = 1",
        {("m", 0, "n"): 2, ("m", 1): 3, ("m", 1, "n"): 4, ("m", 1, "s", "x"): 6},
    ),
    (
        "[[m]]\n[[m.k]]\n[[m.k]]\n[[m]]\n[[m.k]]\nz=1",
        {("m", 0, "k", 1): 3, ("m", 1, "k", 0): 5, ("m", 1, "k", 0, "z"): 6},
    ),
    ('"a.b" = 1\n\'c"d\' = 2\n"e\\u0066\\"" = 3\n"" = 4', {("a.b",): 1, ('c"d',): 2, ('ef"',): 3, ("",): 4}),
    ('a = """\nb = 1\n[c]\n\\"""\n"""\nd = 1', {("a",): 1, ("d",): 6}),
    ("a = '''\nb = '1'\n[c]\n'''\nd = 1", {("a",): 1, ("d",): 5}),
    ('a = """""two quotes"""""\nb = \'\'\'\'one\'\'\'\'\nc = 1', {("b",): 2, ("c",): 3}),
    ("a = [ # ] = [\n '[', \"]\",\n { x = ']' },\n]\nb = 1", {("a",): 1, ("b",): 5}),
    ("a = '#' # b = 1\nc = '\"'\nd = \"'\"", {("a",): 1, ("c",): 2, ("d",): 3}),
    ("a = 1\r\nb = 2\r\n", {("a",): 1, ("b",): 2}),
    ('a = """one""""\nb = 1', {("a",): 1, ("b",): 2}),
    ("1979-05-27 = 1979-05-27\n3.14 = 1", {("1979-05-27",): 1, ("3", "14"): 2}),
]


@pytest.mark.parametrize(("text", "lines"), TABLE, ids=[text for text, _ in TABLE])
def test_the_line_of_each_key(text: str, lines: dict[KeyPath, int]) -> None:
    """Tables, lists of tables, dotted and quoted keys have their line; the content of strings is ignored."""
    tomllib.loads(text)
    found = key_lines(text)
    assert {path: found.get(path) for path in lines} == lines


def test_nothing_inside_a_value_is_a_key() -> None:
    """Text in a string, an array or a comment that resembles a key is not a key."""
    text = 'a = """\nx = 1\n"""\n# y = 1\nb = ["""\nz = 1\n"""]'
    assert key_lines(text) == {("a",): 1, ("b",): 5}


def test_inside_an_inline_table_the_line_is_that_of_its_key() -> None:
    """A key without its own line is reported with the line of the surrounding key."""
    lines = key_lines("[t]\na = { b = { c = 1 } }\n")
    assert line_of(lines, ("t", "a", "b", "c")) == 2
    assert line_of(lines, ("elsewhere",)) == 0


ODD = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6)
SPACE = st.sampled_from(["", " ", "\t", "  "])
HOSTILE = ['"""', "'''", '"', "'", "[x]", "[[x]]", "x = 1", "# no", "\n", "\\\\", "{", "]", "é", " "]


def basic(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def multi_line(text: str) -> str:
    return '"""' + text.replace('"""', '""\\"').replace('"', '\\"', 1) + 'x"""'


STRINGS = st.lists(st.sampled_from(HOSTILE), max_size=6).map("".join)
VALUES = st.one_of(
    STRINGS.map(lambda text: basic(text.replace("\n", ""))),
    STRINGS.map(multi_line),
    STRINGS.map(lambda text: "'''" + text.replace("'", "") + "'''"),
    STRINGS.map(lambda text: "'" + text.replace("'", "").replace("\n", "") + "'"),
    STRINGS.map(lambda text: "[ # " + text.replace("\n", " ") + "\n1,\n" + multi_line(text) + ",\n]"),
    STRINGS.map(lambda text: "{ a = " + multi_line(text) + ", 'b}' = [\n] }"),
    st.sampled_from(["1", "-0.5e3", "true", "1979-05-27T07:32:00Z", "0xff", "inf"]),
)


@st.composite
def keys(draw: st.DrawFn, number: int) -> str:
    """A key of one to three parts whose first part is new."""
    first = draw(
        st.sampled_from([f"k{number}", f'"k{number}.x"', f"'k{number} \"y\"'"])
        | ODD.map(lambda t: basic(f"{number}{t}"))
    )
    dot = draw(SPACE) + "." + draw(SPACE)
    return dot.join([first, *draw(st.lists(ODD.map(basic) | st.just("z-_9"), max_size=2))])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """TOML in which each assigned value is a list that ends with the line of its key."""
    text = ""
    for number in range(draw(st.integers(1, 12))):
        text += draw(st.sampled_from(["", "\n", "  # [no] = 'x\n", "\t\r\n"]))
        line = text.count("\n") + 1
        key, space = draw(keys(number)), draw(SPACE)
        text += {
            "table": f"{space}[{space}{key}{space}]{space}# '''\n",
            "rows": f"{space}[[rows]]\n",
            "row table": f"[[rows]]\n[rows.{key}]\n",
            "nested rows": f"[[rows]]\n[[rows.r]]\n[[rows.r]]{space}\n",
            "value": f'{space}{key}{space}={space}[{draw(VALUES)}, {line}]{space}# """\n',
        }[
            draw(
                st.sampled_from(
                    ["table", "rows", "row table", "nested rows", "value", "value", "value", "value"]
                )
            )
        ]
    return text


def marked(tree: Any, path: KeyPath = ()) -> list[tuple[KeyPath, int]]:
    """Return each assigned path with the line number in its value."""
    if isinstance(tree, dict):
        return [found for name, item in tree.items() for found in marked(item, (*path, name))]
    if all(isinstance(item, dict) for item in tree):
        return [found for index, item in enumerate(tree) for found in marked(item, (*path, index))]
    return [(path, tree[-1])]


@settings(max_examples=examples(300), deadline=10_000)
@given(documents())
def test_the_lines_of_any_document(text: str) -> None:
    """For any strings, arrays and comments, each key is found on its own line."""
    lines = key_lines(text)
    for path, line in marked(tomllib.loads(text)):
        assert lines[path] == line


@settings(max_examples=examples(200), deadline=10_000)
@given(st.text(st.sampled_from("ab.=[]{}\"'\\#\n ,1"), max_size=60))
def test_the_scanner_ends_on_anything(text: str) -> None:
    """For a document that is not TOML the scanner returns some lines without an error or an endless loop."""
    try:
        key_lines(text)
    except tomllib.TOMLDecodeError:
        assert "\\" in text  # a quoted key with a wrong escape, which tomllib refuses first
