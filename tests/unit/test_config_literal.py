"""Values as TOML writes them."""

from __future__ import annotations

import tomllib
from datetime import date, time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from ostler.config.literal import quote, shorten, to_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.one_of(
    TEXT,
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False),
    st.dates(),
    st.times(),
    st.datetimes(),
)


def containers(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)


@settings(max_examples=examples(200), deadline=10_000)
@given(SCALARS | containers(SCALARS | containers(SCALARS)))
def test_tomllib_reads_back_what_is_written(value: object) -> None:
    """Every literal is TOML of the same value, on one line, without control characters."""
    written = to_toml(value)
    assert tomllib.loads(f"x = {written}") == {"x": value}
    assert written.isprintable()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        (("a", 1), '["a", 1]'),
        (2**63, "an int of more than 64 bits"),
        (date(1979, 5, 27), "1979-05-27"),
        (time(7, 32), "07:32:00"),
        ("\x1b[2J\x9b\u202e\udcff", '"\\u001b[2J\\u009b\\u202e\\udcff"'),
        ([[[[[[[[[]]]]]]]]], "[[[[[[[...]]]]]]]"),
    ],
)
def test_values_that_toml_cannot_express(value: object, written: str) -> None:
    """Messages also show values of types that a file or a variable cannot have."""
    assert to_toml(value) == written


def test_an_int_that_python_itself_will_not_print() -> None:
    """A hexadecimal number of thousands of digits is valid TOML."""
    assert to_toml(1 << 99999) == "an int of more than 64 bits"


def test_long_text_is_cut() -> None:
    """A message stays one line that can be read."""
    assert shorten(quote("x" * 99), 10) == '"xxxxxx...'
    assert shorten("x" * 10, 10) == "x" * 10
