"""Completion marks: the agent's own last word, and nothing that merely looks like it."""

from __future__ import annotations

import time

import pytest

from ostler.prompt.completion import Mark, check_phase_completion

DONE, WHY = Mark("complete"), Mark("blocked", "no key")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("All done.", None),
        ("Done. <phase_complete>true</phase_complete>", DONE),
        ("<phase_complete> TRUE </phase_complete>", DONE),
        ("<implement_complete>true</implement_complete>", DONE),
        ("<test_complete>true</test_complete>", None),
        ("<phase_complete>false</phase_complete>", None),
        ("<phase_blocked>no key</phase_blocked>", WHY),
        ("<phase_blocked>\nno key\n</phase_blocked>", WHY),
        ("<phase_blocked></phase_blocked>", Mark("blocked", "the agent gave no reason")),
        ("<phase_complete>true</phase_complete> then <phase_blocked>no key</phase_blocked>", WHY),
        ("<phase_blocked>no key</phase_blocked> solved. <phase_complete>true</phase_complete>", DONE),
        ("<phase_blocked> or <phase_blocked>no key</phase_blocked>", WHY),
        ("<phase_blocked>no <b>key</b></phase_blocked>", Mark("blocked", "no <b>key</b>")),
        ("```\n<phase_complete>true</phase_complete>\n```", None),
        ("~~~xml\n<phase_complete>true</phase_complete>\n~~~\n", None),
        ("```\nunclosed <phase_complete>true</phase_complete>", None),
        ("Say `<phase_complete>true</phase_complete>` at the end.", None),
        ("> <phase_complete>true</phase_complete>", None),
        ("```\ncode\n```\n<phase_complete>true</phase_complete>", DONE),
    ],
)
def test_marks(text: str, expected: Mark | None) -> None:
    """The table of contract.md "Evidence": the last mark, outside code and quotes."""
    assert check_phase_completion(text, "implement") == expected


def test_a_line_echoed_from_the_prompt_is_not_the_agents_word() -> None:
    """An agent that repeats its instructions has not finished."""
    prompt = "Task: write <phase_complete>true</phase_complete> into a file\nmore"
    echo = "You said:\nTask: write <phase_complete>true</phase_complete> into a file"
    assert check_phase_completion(echo, "implement", prompt) is None
    assert (
        check_phase_completion(echo + "\n<phase_complete>true</phase_complete>", "implement", prompt) == DONE
    )


@pytest.mark.parametrize(
    "piece",
    [
        "<phase_complete>" + " " * 200_000,
        "<phase_blocked>" + "\n\t" * 100_000,
        "<phase_blocked> " * 20_000,
        "x" + "`" * 200_000,
    ],
    ids=["complete", "blocked", "again", "code"],
)
def test_a_mark_that_never_ends_takes_no_time(piece: str) -> None:
    """The whole run waits while an answer is read, so no answer may take long."""
    begun = time.monotonic()
    assert check_phase_completion(piece, "implement") is None
    assert time.monotonic() - begun < 2
