"""Requests are read strictly, and every mistake is one sentence."""

from __future__ import annotations

import pytest

from ostler.errors import UsageError
from ostler.project.actions import SkipParams
from ostler.web.requests import EventsQuery, LogQuery, NewTask, TasksQuery, decode_body, read_query


def test_a_query_becomes_a_value() -> None:
    """Numbers are read from text; an empty value counts as not given."""
    read = read_query(TasksQuery, {"limit": "5", "q": "a b", "group": "", "sort": "cost"})
    assert (read.limit, read.q, read.group, read.sort) == (5, "a b", None, "cost")
    assert read_query(LogQuery, {"offset": "-1"}).offset == -1


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"limt": "5"}, "unknown parameter 'limt'"),
        ({"limit": "0"}, "invalid query: limit: Expected `int` >= 1"),
        ({"limit": "501"}, "limit: Expected `int` <= 500"),
        ({"limit": "five"}, "limit: Expected `int`, got `str`"),
        ({"group": "all"}, "group: Invalid enum value 'all'"),
        ({"q": "x" * 2001}, "q: Expected `str` of length <= 2000"),
    ],
)
def test_mistakes_in_an_address(given: dict[str, str], reported: str) -> None:
    """Each names the wrong part."""
    with pytest.raises(UsageError) as raised:
        read_query(TasksQuery, given)
    assert reported in raised.value.message


def test_the_nearest_name_is_offered() -> None:
    """If none is near, all are listed."""
    with pytest.raises(UsageError) as near:
        read_query(EventsQuery, {"limt": "5"})
    with pytest.raises(UsageError) as far:
        read_query(EventsQuery, {"zzz": "5"})
    assert near.value.hint == "did you mean limit?"
    assert far.value.hint == "use one of after, task, limit"


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"title": null}', "title: Expected `str`, got `null`"),
        (b"{}", "Object missing required field `title`"),
        (b'{"title": " "}', "title: it must not be blank"),
        (b'{"title": "x", "tite": 1}', "unknown field 'tite'"),
        (b'{"title": "a\\u0000b"}', "title (no program accepts that character)"),
        (b'{"title": "x", "after": ["\\u0000"]}', "after (no program accepts that character)"),
        (b'{"title": "x", "budget_usd": -1}', "budget_usd"),
        (b'{"title": "\\ud800"}', "not valid JSON"),
    ],
)
def test_mistakes_in_a_body(body: bytes, reported: str) -> None:
    """No such request reaches a handler."""
    with pytest.raises(UsageError) as raised:
        decode_body(NewTask, body)
    assert reported in raised.value.message


def test_missing_members_have_their_defaults() -> None:
    """A task needs only a title; a skip needs a reason."""
    assert decode_body(NewTask, b'{"title": "Fix it"}') == NewTask("Fix it")
    assert decode_body(SkipParams, b'{"phase": "test", "reason": "none"}').phase == "test"
