"""Which last lines of a program ask a person for input."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostler.calls.attempts.liveness_signals import INPUT_PROMPTS, InputPrompt, find_input_prompt


@pytest.mark.parametrize("question", INPUT_PROMPTS, ids=lambda question: question.sample)
def test_every_pattern_finds_its_own_sample(question: InputPrompt) -> None:
    """The sample of a pattern matches this pattern only."""
    assert re.search(question.pattern, question.sample, re.IGNORECASE)
    assert find_input_prompt(f"Reading files\n{question.sample}") == re.sub(
        r"^[\s>]+|\s+$", "", question.sample
    )


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Continue? (y/n) ", "Continue? (y/n)"),
        ("Proceed [Y/n]?", "Proceed [Y/n]?"),
        ("Overwrite? [y/N/all]:", "Overwrite? [y/N/all]:"),
        ("\x1b[1mPassword:\x1b[0m ", "Password:"),
        ("Enter passphrase for key '/home/a/.ssh/id':", "Enter passphrase for key '/home/a/.ssh/id':"),
        ("│ Do you trust the files in this folder?   │", "Do you trust the files in this folder?"),
        ("loading...\rContinue? (y/n)", "Continue? (y/n)"),
        (
            "Do you want to make this edit to a.py?\n\u276f 1. Yes\n  2. No",
            "Do you want to make this edit to a.py?",
        ),
        (
            "Please visit https://a.example/device?user_code=AB",
            "Please visit https://a.example/device?user_code=AB",
        ),
    ],
)
def test_a_question_is_found_in_what_a_terminal_shows(text: str, asked: str) -> None:
    """Colours, boxes, overwritten lines and a missing newline do not hide it."""
    assert find_input_prompt(text) == asked


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Running the tests",
        "wrote prompt.py, which asks (y/n) before it deletes",
        "The password is read from the environment.",
        "Continue? (y/n)\nyes\n" + "working\n" * 10,
        '{"type":"assistant","text":"Please run /login"}',
        'on of the text: Press Enter to go on"}]}}',
    ],
)
def test_what_an_agent_reports_is_not_a_question(text: str) -> None:
    """Prose, answered questions and the lines of a stream do not ask for input."""
    assert find_input_prompt(text) == ""


def test_a_long_line_is_cut() -> None:
    """The line fits into a message."""
    assert len(find_input_prompt("Do you trust " + "x" * 5000)) == 200


def test_no_recorded_stream_of_an_agent_looks_like_a_question() -> None:
    """Real headless output of agents, including errors about a missing login, does not match."""
    streams = sorted((Path(__file__).parents[1] / "data").glob("*/*.jsonl"))
    assert len(streams) > 20
    assert [path for path in streams if find_input_prompt(path.read_text("utf-8", "replace")[-2048:])] == []
