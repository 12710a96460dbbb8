"""The origin of a task is one line that can be read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.sources.origin import BoxOrigin, IssueOrigin, read_origin


@pytest.mark.parametrize(
    ("origin", "text"),
    [
        (BoxOrigin("TODO.md", "Fix it"), "checklist:TODO.md#Fix it"),
        (BoxOrigin("a/b.md", "#2?", 3), "checklist:a/b.md?3##2?"),
        (BoxOrigin("100%#?.md", "x"), "checklist:100%25%23%3F.md#x"),
        (IssueOrigin("acme/app", 12), "github:acme/app#12"),
        (IssueOrigin("ghe.example.org/acme/app", 1), "github:ghe.example.org/acme/app#1"),
    ],
)
def test_both_ways(origin: BoxOrigin | IssueOrigin, text: str) -> None:
    """The text that `show` prints, and the parsed position."""
    assert str(origin) == text
    assert read_origin(text) == origin


@pytest.mark.parametrize(
    "text", ["", "file:a.md", "stdin:12", "github:acme/app", "checklist:a.md", "github:a b#1"]
)
def test_other_texts_are_not_origins(text: str) -> None:
    """A path and a text of another form are not read as an origin."""
    assert read_origin(text) is None


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1), st.integers(1, 999))
def test_any_path_and_text(file: str, text: str, number: int) -> None:
    """No text in them is read as a mark."""
    assert read_origin(str(BoxOrigin(file, text, number))) == BoxOrigin(file, text, number)
