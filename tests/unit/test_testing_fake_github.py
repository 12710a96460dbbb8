"""The fake GitHub answers exactly what is queried."""

from __future__ import annotations

import pytest

from ostler.testing.github.query import read_query

ROOT = {
    "repository": lambda args: {
        "name": args["name"],
        "secret": 1,
        "owner": {"__typename": "User", "login": "una", "name": "Una"},
        "pulls": lambda inner: {"nodes": [{"number": n, "title": "t"} for n in range(inner["first"])]},
    }
}


def test_only_the_fields_that_were_asked_for():
    """gh accepts more, but additional fields would hide errors."""
    query = read_query("query X($n: Int!) { r: repository(name: $n) { name } }", {"n": "app"})
    assert query.cut(ROOT) == {"r": {"name": "app"}}


def test_fragments_types_and_arguments():
    """Named fragments, fields of one type only, lists, literals and unknown fields."""
    text = """
      fragment who on User { login ...on Organization { name } ...on User { name } }
      query { repository(name: "app", by: {field: X, all: [1, true, null]}) {
        owner { ...who } pulls(first: 2) { nodes { number, unknown } }
      } }  # the end
    """
    assert read_query(text, {}).cut(ROOT) == {
        "repository": {
            "owner": {"login": "una", "name": "Una"},
            "pulls": {"nodes": [{"number": 0, "unknown": None}, {"number": 1, "unknown": None}]},
        }
    }


@pytest.mark.parametrize("text", ["query { a", "query { a(b c) }", "query { a: }"])
def test_a_broken_query_is_an_error(text: str):
    """It is not an empty answer."""
    with pytest.raises(ValueError, match="invalid query"):
        read_query(text, {})
