"""Requests are read strictly, and every mistake is one sentence."""

from __future__ import annotations

import pytest

from ostler.errors import UsageError
from ostler.project.actions import SkipParams
from ostler.web.requests import EventsQuery, LogQuery, NewTask, TasksQuery, decode_body, read_query


def test_a_query_becomes_a_value() -> None:
    """Numbers are read from text; what is empty was not said."""
    read = read_query(TasksQuery, {"limit": "5", "q": "a b", "group": "", "sort": "cost"})
    assert (read.limit, read.q, read.group, read.sort) == (5, "a b", None, "cost")
    assert read_query(LogQuery, {"offset": "-1"}).offset == -1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"limt": "5"}, "unknown parameter 'limt'"),
        ({"limit": "0"}, "invalid query: limit: Expected `int` >= 1"),
        ({"limit": "501"}, "limit: Expected `int` <= 500"),
        ({"limit": "five"}, "limit: Expected `int`, got `str`"),
        ({"group": "all"}, "group: Invalid enum value 'all'"),
        ({"q": "x" * 2001}, "q: Expected `str` of length <= 2000"),
    ],
)
def test_mistakes_in_an_address(given: dict[str, str], told: str) -> None:
    """Each names the part that is wrong."""
    with pytest.raises(UsageError) as raised:
        read_query(TasksQuery, given)
    assert told in raised.value.message


def test_the_nearest_name_is_offered() -> None:
    """Or all there are, where none is near."""
    with pytest.raises(UsageError) as near:
        read_query(EventsQuery, {"limt": "5"})
    with pytest.raises(UsageError) as far:
        read_query(EventsQuery, {"zzz": "5"})
    assert near.value.hint == "did you mean limit?"
    assert far.value.hint == "use one of after, task, limit"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"title": null}', "title: Expected `str`, got `null`"),
        (b"{}", "Object missing required field `title`"),
        (b'{"title": " "}', "title: Expected `str` matching regex"),
        (b'{"title": "x", "tite": 1}', "unknown field 'tite'"),
        (b'{"title": "a\\u0000b"}', "title (no program accepts that character)"),
        (b'{"title": "x", "after": ["\\u0000"]}', "after (no program accepts that character)"),
        (b'{"title": "x", "budget_usd": -1}', "budget_usd"),
        (b'{"title": "\\ud800"}', "not valid JSON"),
    ],
)
def test_mistakes_in_a_body(body: bytes, told: str) -> None:
    """None of them reaches a handler."""
    with pytest.raises(UsageError) as raised:
        decode_body(NewTask, body)
    assert told in raised.value.message


def test_what_is_not_said_is_as_usual() -> None:
    """A title is enough for a task; a skip needs its reason."""
    assert decode_body(NewTask, b'{"title": "Fix it"}') == NewTask("Fix it")
    assert decode_body(SkipParams, b'{"phase": "test", "reason": "none"}').phase == "test"
