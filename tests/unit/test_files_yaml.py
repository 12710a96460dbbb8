"""The reader for YAML of people and agents."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.errors import Code
from ostler.files.yaml import YamlInvalid, read_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# only a remark", None),
        ("a: 1\nb: -2.5\nc: 1e3\nd: .5", {"a": 1, "b": -2.5, "c": 1000.0, "d": 0.5}),
        ("a: true\nb: False\nc: null\nd: ~\ne:", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        ("a: yes\non: off\nc: NO", {"a": "yes", "on": "off", "c": "NO"}),
        ("a: 2026-11-15\nb: 2026-13-45\nc: 12:30", {"a": "2026-11-15", "b": "2026-13-45", "c": "12:30"}),
        ("a: '1'\nb: \"true\"\nc: |\n  null\n", {"a": "1", "b": "true", "c": "null\n"}),
        ("a: 0x10\nb: 1_000\nc: 0b_\nd: .nan", {"a": "0x10", "b": "1_000", "c": "0b_", "d": ".nan"}),
        (
            "a: 123456789012345678\nb: 1234567890123456789",
            {"a": 123456789012345678, "b": "1234567890123456789"},
        ),
        ("a: 1e999\nb: 1.\nc: 1.2.3\nd: 7e", {"a": "1e999", "b": 1.0, "c": "1.2.3", "d": "7e"}),
        ("1: a\nnull: b\n=: c\n<<: {d: e}", {"1": "a", "null": "b", "=": "c", "<<": {"d": "e"}}),
        ("- a\n- [b, {c: d}]", ["a", ["b", {"c": "d"}]]),
        ("a: &x b", {"a": "b"}),
    ],
)
def test_values_are_plain(text: str, value: object) -> None:
    """Text, numbers, true, false and null; text that YAML 1.1 reads as a date or a boolean stays text."""
    assert read_yaml(text, "f").value == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: *a", "f:2: aliases and tags are not allowed"),
        ("a: 1\nb: !!python/object:os.system x", "f:2: aliases and tags are not allowed"),
        ("a: 1\nb: 2\na: 3", "f:3: 'a' is given twice"),
        ("- {a: {b: 1, b: 2}}", "f:1: 'b' is given twice"),
        ("a: 1\n? [b]\n: c", "f:2: a key must be a single text"),
        ("a: b: c", "f:1: unexpected colon; put the text in quotes"),
        ("a: 1\n---\nb: 2", "f:2: a second document begins here; expected one"),
        ("a: 1\nb: \0", "f:2: unprintable character"),
        ("a: [1", "f:1: expected ',' or ']', but got '<stream end>'"),
        ("- " * 300, "f:1: nested too deeply"),
        ("[" * 5000, "f:1: nested too deeply"),
        ('a: 1\nb: "\\0"', "f:2: unprintable character"),
        ('a: 1\n"\\e": 2', "f:2: a key must be a single text"),
        (r'a: "\ud800"', "f:1: unprintable character"),
        ("x" * ((1 << 20) + 1), "f:1: the text is larger than 1 MiB"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(text: str, message: str) -> None:
    """Ambiguous, unsafe or invalid YAML is refused."""
    with pytest.raises(YamlInvalid) as caught:
        read_yaml(text, "f")
    assert (caught.value.code, caught.value.message) == (Code.CONFIG_INVALID, message)


def test_each_part_has_its_line() -> None:
    """The code that checks a value can report its line, counted from the top of the file."""
    document = read_yaml(
        "steps:\n  - skill: a\n  -\n    skill: b\n    inputs: [x, y]\n", "p.yaml", lines_before=10
    )
    lines = {(): 11, ("steps",): 11, ("steps", 0, "skill"): 12, ("steps", 1, "skill"): 14}
    assert {path: document.lines[path] for path in lines} == lines
    assert document.error(("steps", 1, "inputs", 1), "no").message == "p.yaml:15: no"
    assert document.error(("steps", 1, "missing"), "no").message == "p.yaml:14: no"
    assert document.error(("missing",), "no").message == "p.yaml:11: no"


@given(st.text(max_size=80) | st.text("[]{}:-,&*!|>'\"#%@`\n\t a1?\\ud80e.", max_size=80))
def test_any_text_is_a_value_or_one_mistake(text: str) -> None:
    """Any text gives a value or a one-line mistake; each value can be printed as JSON."""
    try:
        msgspec.json.encode(read_yaml(text, "f").value)
    except YamlInvalid as error:
        assert "\n" not in error.message and error.line >= 1
