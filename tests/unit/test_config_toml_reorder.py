"""Tables of a list change their order with their comments; nothing else of the file changes."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.config.toml.edit import CannotEdit
from ostler.config.toml.reorder import reorder_rows

FILE = """# first line
[run]
jobs = 2  # two

# the fast one
[[models]]
name = "a"
executor = "claude"
[models.env]
X = "1"

[[models]]
name = "b"
executor = "codex"

[budget]
day_usd = 5.0

[[models]]
name = "c"  # last
executor = "claude"
"""


def names(text: str) -> list[str]:
    return [row["name"] for row in tomllib.loads(text)["models"]]


@given(st.permutations([0, 1, 2]))
def test_every_order_is_possible(order: list[int]) -> None:
    """Comments go with their table, other tables keep their values, and the way back gives the same file."""
    changed = reorder_rows(FILE, "models", order)
    assert names(changed) == ["abc"[index] for index in order]
    assert sorted(changed.splitlines()) == sorted(FILE.splitlines())
    at = changed.splitlines().index("# the fast one")
    assert changed.splitlines()[at + 1 : at + 3] == ["[[models]]", 'name = "a"']
    assert tomllib.loads(changed)["budget"] == {"day_usd": 5.0}
    assert names(reorder_rows(changed, "models", [order.index(index) for index in range(3)])) == list("abc")


def test_a_file_without_a_last_newline_works() -> None:
    """The last table may be moved up."""
    assert names(reorder_rows(FILE.rstrip(), "models", [2, 1, 0])) == list("cba")


@pytest.mark.parametrize(
    "text",
    [
        'models = [{name = "a"}, {name = "b"}]',
        '[[models]]\nname = "a"\n',
        "[run]\njobs = 1\n",
        '[[models]]\nname = "a"\n[[models]]\nname = "b"\n[[models]]\nname = "c"\n',
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    """An inline list, and another number of tables than the order has."""
    with pytest.raises(CannotEdit):
        reorder_rows(text, "models", [1, 0])
