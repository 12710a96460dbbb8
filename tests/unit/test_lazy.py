from __future__ import annotations

import re

import pytest

from ostler.lazy import lazy_pattern


def test_a_pattern_is_compiled_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when it is made, and once for each method: it finds what a compiled pattern finds."""
    compiled: list[object] = []
    original = re.compile
    monkeypatch.setattr("re.compile", lambda *args: compiled.append(args) or original(*args))
    pattern = lazy_pattern(r"a(\d+)", re.IGNORECASE)
    assert compiled == []
    assert [found[1] for found in pattern.finditer("A1 a22")] == ["1", "22"]
    assert pattern.search("x a3") and pattern.search("x") is None
    assert len(compiled) == 2
    assert (pattern.pattern, pattern.sub("-", "a1 b")) == (r"a(\d+)", "- b")


def test_a_pattern_of_bytes() -> None:
    """It has the methods of a pattern of bytes, and a wrong one is an error on first use."""
    assert lazy_pattern(rb"b+").fullmatch(b"bb")
    with pytest.raises(re.error):
        lazy_pattern("(").search("text")
