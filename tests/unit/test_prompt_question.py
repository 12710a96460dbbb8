"""A final text that ends in a question is recognized, and nothing else is."""

from __future__ import annotations

import time

import pytest

from ostler.prompt.question import find_question


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("", ""),
        ("Which colour do you want?", "Which colour do you want?"),
        ("I read the file. Which colour do you want?\n", "Which colour do you want?"),
        ("I read it.\n\n**Which colour do you want?**", "Which colour do you want?"),
        ("Shall I overwrite it? (y/n)", "Shall I overwrite it? (y/n)"),
        ("Continue? [Y/n]:", "Continue? [Y/n]:"),
        ('Should the name be "x"?', 'Should the name be "x"?'),
        ("Red? Or blue?", "Red? Or blue?"),
        ("Which one?\n\n1. red\n2. blue", "Which one?\n1. red\n2. blue"),
        ("Which one?\n- red\n- blue\n", "Which one?\n- red\n- blue"),
        ("- Which port should it use?", "- Which port should it use?"),
        ("Which colour? Please let me know.", "Which colour?"),
        ("Which colour? Please let me know and I will continue.", "Which colour?"),
        ("Which file?\n```\nls\n```\n", "Which file?"),
        ("どの色ですか\uff1f", "どの色ですか\uff1f"),
        ("Done.", ""),
        ("Why did it fail? Because the key was missing.", ""),
        ("I fixed it:\n- a\n- b", ""),
        ("```\nwhat?\n```", ""),
        ("# What changed?\n", ""),
        ("> Which colour?", ""),
        ("Is it red? No. I painted it blue.", ""),
        ("See https://example.org/?q=1", ""),
    ],
)
def test_questions(text: str, question: str) -> None:
    """The last sentence counts; options and a request for the reply may follow it."""
    assert find_question(text) == question


@pytest.mark.parametrize("piece", ["? ", "?", "- a\n", "a.? ", "*", "? (", "I'll? "])
def test_a_long_text_takes_no_time(piece: str) -> None:
    """The run waits while an answer is parsed."""
    begun = time.monotonic()
    find_question(piece * (200_000 // len(piece)))
    assert time.monotonic() - begun < 5
