"""One value of a TOML document is changed, and everything else stays as it is written."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from ostler.config.source import KeyPath
from ostler.config.toml.edit import CannotEdit, get_value, remove_value, set_value

SET: list[tuple[str, KeyPath, Any, str]] = [
    ("", ("run", "jobs"), 3, "[run]\njobs = 3\n"),
    ("[run]\njobs = 2  # two\n", ("run", "jobs"), 3, "[run]\njobs = 3  # two\n"),
    ("[run]\n# jobs = 2\n\n[git]\n", ("run", "jobs"), 3, "[run]\n# jobs = 2\njobs = 3\n\n[git]\n"),
    ("[run]\nmodel = ''\n\n[git]\n", ("run", "jobs"), 3, "[run]\nmodel = ''\njobs = 3\n\n[git]\n"),
    ("[git]\na = 1", ("run", "jobs"), 3, "[git]\na = 1\n\n[run]\njobs = 3\n"),
    ("[run]\na = 1", ("run", "jobs"), 3, "[run]\na = 1\njobs = 3\n"),
    ("run.a = 1 # x\n[git]\n", ("run", "jobs"), 3, "run.a = 1 # x\nrun.jobs = 3\n[git]\n"),
    ("run = {a = 1} # x\n", ("run", "jobs"), 3, 'run = {"a" = 1, "jobs" = 3} # x\n'),
    ("[run]\r\na = 1\r\n", ("run", "jobs"), 3, "[run]\r\na = 1\r\njobs = 3\r\n"),
    ("[g]\nc.a = 1\n", ("g", "c", "b"), 3, "[g]\nc.a = 1\nc.b = 3\n"),
    ("[g]\na = [ # ]\n 1,\n] # end\n", ("g", "a"), [2], "[g]\na = [2] # end\n"),
    ('[g]\na = """\n[x]\n""" # end\n', ("g", "a"), "b", '[g]\na = "b" # end\n'),
    (
        "[[m]]\nn = 1\n[[m]]\nn = 2\n",
        ("m", 0, "e", "X"),
        "1",
        '[[m]]\nn = 1\ne.X = "1"\n[[m]]\nn = 2\n',
    ),
    ("[e.'my agent']\na = 1\n", ("e", "my agent", "b"), 2, "[e.'my agent']\na = 1\nb = 2\n"),
]
REMOVED: list[tuple[str, KeyPath, bool, str]] = [
    ("[run]\njobs = 2  # two\na = 1\n", ("run", "jobs"), False, "[run]\na = 1\n"),
    ("[a]\nx = 1\n\n[run]\njobs = 2\n\n[b]\n", ("run",), False, "[a]\nx = 1\n\n[b]\n"),
    ("[run]\n# jobs = 2\njobs = 3\n", ("run",), False, "[run]\n# jobs = 2\n"),
    ("[[m]]\nn = 1\n[m.e]\nx = 1\n[[m]]\nn = 2\n", ("m", 0), True, "[[m]]\nn = 2\n"),
    ("run = {a = 1, jobs = 2}\n", ("run", "jobs"), False, 'run = {"a" = 1}\n'),
]


@pytest.mark.parametrize(("text", "path", "value", "expected"), SET)
def test_a_value_is_set(text: str, path: KeyPath, value: object, expected: str) -> None:
    """In its place if it is there, else below its commented default, its section, or in a new section."""
    assert set_value(text, path, value) == expected


@pytest.mark.parametrize(("text", "path", "with_headers", "expected"), REMOVED)
def test_a_value_is_removed(text: str, path: KeyPath, with_headers: bool, expected: str) -> None:
    """With its comment; the header of a section stays while comments are below it."""
    assert remove_value(text, path, with_headers=with_headers) == expected


def test_a_form_that_is_not_supported_is_refused() -> None:
    """A result with other values is never returned."""
    with pytest.raises(CannotEdit):
        set_value("[a]\nb = 1\n", ("a", "b", "c"), 1)


NAMES = st.sampled_from(["a", "b", "c.d", "e f", ""])
LEAVES = st.one_of(st.integers(-9, 9), st.booleans(), st.text(max_size=4), st.lists(st.integers(0, 3)))
TABLES = st.dictionaries(NAMES, st.dictionaries(NAMES, LEAVES, max_size=3), max_size=3)


@settings(max_examples=examples(60))
@given(TABLES, NAMES, NAMES, LEAVES)
def test_any_value_can_be_set_and_removed(
    tables: dict[str, dict[str, Any]], table: str, key: str, value: Any
) -> None:
    """Whatever its name and its characters are, the rest has the same values afterwards."""
    text = ""
    for name, entries in tables.items():
        for one, item in entries.items():
            text = set_value(text, (name, one), item)
    changed = set_value(text, (table, key), value)
    assert get_value(tomllib.loads(changed), (table, key)) == value
    before = tomllib.loads(remove_value(changed, (table, key)))
    kept = {
        name: {k: v for k, v in rows.items() if (name, k) != (table, key)} for name, rows in tables.items()
    }
    assert {name: rows for name, rows in before.items() if rows} == {n: r for n, r in kept.items() if r}
