"""Answers of an agent to the comments of a review."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.review import Reply
from ostler.prompt.completion import check_phase_completion, read_final_words
from ostler.prompt.replies import read_replies, strip_replies

ENTRIES = [
    {"comment": 1, "status": "changed", "where": "a.py:3", "text": "It returns early."},
    {"comment": 2, "status": "answered", "where": "", "text": "Because of {x}."},
]
OBJECT = json.dumps({"replies": ENTRIES})
FOUND = (Reply(1, "changed", "a.py:3", "It returns early."), Reply(2, "answered", "", "Because of {x}."))
MARK = "<phase_complete>true</phase_complete>"


@pytest.mark.parametrize(
    "text",
    [
        OBJECT,
        f"Done.\n\n{OBJECT}",
        f"Done.\n\n```json\n{json.dumps(json.loads(OBJECT), indent=2)}\n```\n\n{MARK}",
        f"~~~\n{OBJECT}\n~~~",
        f"{MARK}\n{OBJECT}\nThat is all.",
        f'Earlier: {{"replies": [{{"comment": 1, "status": "declined"}}]}}\nNow: {OBJECT}',
        json.dumps({"status": "complete", "reason": "", "summary": f"Done.\n{OBJECT}"}),
        json.dumps({"status": "complete", "reason": "", "summary": "Done.", "replies": ENTRIES}),
        OBJECT.replace('"comment": 1', '"comment": "#1"').replace('"changed"', '"Changed"'),
        OBJECT.replace("early.", "early."),
    ],
)
def test_answers_are_found(text: str) -> None:
    """In a fence or not, with text and marks around them, as a field, and in a summary."""
    assert read_replies(text) == FOUND


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I replied to all replies.",
        '{"replies": []}',
        '{"replies": [1, null, {"comment": 0, "status": "changed"}, {"comment": 1, "status": "maybe"}]}',
        '{"replies": [{"comment": true, "status": "changed"}]}',
        '{"replies": [{"comment": 1, "status": "changed"',
        '{"replies": ' + "[" * 20_000,
    ],
)
def test_what_is_no_answer(text: str) -> None:
    """Nothing is guessed from a text without a readable entry."""
    assert read_replies(text) == ()
    assert strip_replies(text) == text


def test_the_last_answer_to_a_comment_counts() -> None:
    """A line end inside a string, which is not valid JSON, is accepted."""
    entries = '{"comment": 1, "status": "changed"}, {"comment": 1, "status": "declined", "text": "a\nb"}'
    twice = f'{{"replies": [{entries}]}}'
    assert read_replies(twice) == (Reply(1, "declined", "", "a\nb"),)


def test_a_person_reads_the_words_only() -> None:
    """Summaries have neither the object, nor its fence, nor marks."""
    for text in (
        f"Done.\n\n```json\n{OBJECT}\n```\n\n{MARK}",
        f"Done.\n\n{MARK}\n\n{OBJECT}",
        json.dumps({"status": "complete", "reason": "", "summary": f"Done.\n{OBJECT}"}),
    ):
        assert read_final_words(text) == "Done."
    assert strip_replies(f"# A\n\nText.\n\n```json\n{OBJECT}\n```\n") == "# A\n\nText.\n"


def test_marks_count_beside_answers() -> None:
    """Complete, blocked and continue are read as without answers; answers alone are no mark."""
    blocked = "<phase_blocked>no key</phase_blocked>"
    for structured in (False, True):
        for mark, kind in ((MARK, "complete"), (blocked, "blocked")):
            for text in (f"{OBJECT}\n{mark}", f"{mark}\n{OBJECT}", f"```json\n{OBJECT}\n```\n{mark}"):
                found = check_phase_completion(text, "implement", structured=structured)
                assert found is not None and found.kind == kind
        assert check_phase_completion(OBJECT, "implement", structured=structured) is None
    whole = json.dumps({"status": "complete", "reason": "", "summary": f"Done.\n{OBJECT}"})
    found = check_phase_completion(whole, "implement", structured=True)
    assert found is not None and found.kind == "complete"


@given(st.text(alphabet='{}[]":,replis comnt12\n`', max_size=80))
def test_no_text_is_too_strange(text: str) -> None:
    """Any text can be read."""
    read_replies(f'{text}{{"replies": [{text}')
    assert read_replies(f"{text}\n{OBJECT}")[:1] != ()
