"""Completion marks: the last mark of the agent, and nothing that resembles one."""

from __future__ import annotations

import time

import pytest

from ostler.prompt.answer import Mark
from ostler.prompt.completion import (
    check_phase_completion,
    read_document_mark,
    read_final_words,
    strip_final_mark,
    strip_marks,
)

DONE, MORE, WHY = Mark("complete"), Mark("continue"), Mark("blocked", "no key")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("All done.", None),
        ("Done. <phase_complete>true</phase_complete>", DONE),
        ("<phase_complete> TRUE </phase_complete>", DONE),
        ("<implement_complete>true</implement_complete>", DONE),
        ("<test_complete>true</test_complete>", None),
        ("<phase_complete>false</phase_complete>", MORE),
        ("<phase_complete>true</phase_complete> no: <implement_complete>False</implement_complete>", MORE),
        ("<phase_complete>false</phase_complete> now: <phase_complete>true</phase_complete>", DONE),
        ("<test_complete>false</test_complete>", None),
        ("<phase_blocked>no key</phase_blocked>", WHY),
        ("<phase_blocked>\nno key\n</phase_blocked>", WHY),
        ("<phase_blocked>reason: no key</phase_blocked>", WHY),
        ("<phase_blocked>\nReason : no key</phase_blocked>", WHY),
        ("<phase_blocked>reason:</phase_blocked>", Mark("blocked", "the agent gave no reason")),
        ("<phase_blocked>a reason: no key</phase_blocked>", Mark("blocked", "a reason: no key")),
        ("<phase_blocked></phase_blocked>", Mark("blocked", "the agent gave no reason")),
        ("<phase_complete>true</phase_complete> then <phase_blocked>no key</phase_blocked>", WHY),
        ("<phase_blocked>no key</phase_blocked> solved. <phase_complete>true</phase_complete>", DONE),
        ("<phase_blocked> or <phase_blocked>no key</phase_blocked>", WHY),
        ("<phase_blocked>no <b>key</b></phase_blocked>", Mark("blocked", "no <b>key</b>")),
        ("<phase_blocked>`a<b`?\n```\nx\n```\n</phase_blocked>", Mark("blocked", "`a<b`?\n```\nx\n```")),
        ("```\n<phase_complete>true</phase_complete>\n```", None),
        ("~~~xml\n<phase_complete>true</phase_complete>\n~~~\n", None),
        ("```\nunclosed <phase_complete>true</phase_complete>", None),
        ("Say `<phase_complete>true</phase_complete>` at the end.", None),
        ("> <phase_complete>true</phase_complete>", None),
        ("```\ncode\n```\n<phase_complete>true</phase_complete>", DONE),
        ("```code``` inline\n\n<phase_complete>true</phase_complete>", DONE),
        ("It`s done.\n\n<phase_complete>true</phase_complete>\n\nBye`s", DONE),
    ],
)
def test_marks(text: str, expected: Mark | None) -> None:
    """The table of contract.md "Evidence": the last mark, outside code and quotes."""
    assert check_phase_completion(text, "implement") == expected


def test_a_line_echoed_from_the_prompt_is_not_the_agents_word() -> None:
    """An agent that repeats its instructions is not complete."""
    prompt = "Task: write <phase_complete>true</phase_complete> into a file\nmore"
    echo = "You said:\nTask: write <phase_complete>true</phase_complete> into a file"
    assert check_phase_completion(echo, "implement", prompt) is None
    assert (
        check_phase_completion(echo + "\n<phase_complete>true</phase_complete>", "implement", prompt) == DONE
    )


def test_a_task_about_marks_can_be_finished() -> None:
    """E6: a mark on its own line of the task does not turn the agent's own mark into an echo."""
    prompt = "# Marks\n\nWrite this into a file:\n\n<phase_complete>true</phase_complete>\n\nand stop."
    echo = "Write this into a file:\n\n<phase_complete>true</phase_complete>"
    assert check_phase_completion(echo, "implement", prompt) is None
    assert check_phase_completion(prompt, "implement", prompt) is None
    own = "Written.\n\n<phase_complete>true</phase_complete>"
    assert check_phase_completion(own, "implement", prompt) == DONE
    assert check_phase_completion(f"{echo}\n\nand stop.\n\n{own}", "implement", prompt) == DONE
    assert check_phase_completion("<phase_complete>true</phase_complete>", "implement", prompt) == DONE


def test_a_fence_in_the_prompt_does_not_open_the_agents_block() -> None:
    """The end of a code block is in many prompts, and still closes the block of the answer."""
    prompt = "# Greet\n\n```\nhello\n```\n"
    answer = "I wrote:\n\n```python\nprint(1)\n```\n\n<phase_complete>true</phase_complete>"
    assert check_phase_completion(answer, "implement", prompt) == DONE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Oil it.\n<phase_complete>true</phase_complete>", "Oil it.\n"),
        ("<spec_complete> TRUE </spec_complete>x", "x"),
        ("<phase_blocked>no key</phase_blocked>", "no key"),
        ("Half.<phase_complete>false</phase_complete>", "Half."),
        ("<a_complete>true</b_complete>", "<a_complete>true</b_complete>"),
    ],
)
def test_a_text_to_quote_has_no_mark(text: str, expected: str) -> None:
    """A spec is passed on without its mark; other text stays."""
    assert strip_marks(text) == expected


MARK = "<phase_complete>true</phase_complete>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("  Oil it.\r\n\r\n", "  Oil it.\r\n\r\n"),
        (f"Oil it.\n\n{MARK}\n", "Oil it.\n"),
        (f"Oil it. {MARK}", "Oil it.\n"),
        (f"{MARK}\nOil it.", f"{MARK}\nOil it."),
        (f"Write {MARK} at the end.\n{MARK}", f"Write {MARK} at the end.\n"),
        (f"{MARK}\n{MARK}", f"{MARK}\n"),
        (f"```\n{MARK}\n```", f"```\n{MARK}\n```"),
        (f"```\n{MARK}", f"```\n{MARK}"),
        (f"End with `{MARK}`", f"End with `{MARK}`"),
        (f"> {MARK}", f"> {MARK}"),
        (MARK, ""),
        ("Text.\n<phase_blocked>no key</phase_blocked>", "Text.\n\nno key\n"),
    ],
)
def test_only_the_mark_at_the_end_is_taken_off(text: str, expected: str) -> None:
    """A document, a spec and a pull request keep everything else byte for byte (K8)."""
    assert strip_final_mark(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<phase_blocked>no key</phase_blocked>", WHY),
        ("# Prices\n\n<phase_blocked>no key</phase_blocked>\n", WHY),
        ("<phase_blocked>drop `id`?</phase_blocked>", Mark("blocked", "drop `id`?")),
        ('{"status": "blocked", "reason": "no key"}', WHY),
        ('```json\n{"status": "blocked", "reason": "no key"}\n```', WHY),
        ('{"status": "blocked", "reason": "no key", "id": 3}', None),
        ("Write <phase_blocked>no key</phase_blocked> when blocked.", None),
        ("```\n<phase_blocked>no key</phase_blocked>\n```", None),
        (f"Prices.\n{MARK}", DONE),
    ],
)
def test_a_document_is_blocked_only_by_its_end(text: str, expected: Mark | None) -> None:
    """A writer that asks for something writes no document; a mark inside the document is content (T27)."""
    assert read_document_mark(text) == expected


@pytest.mark.parametrize(
    "piece",
    [
        "<phase_complete>" + " " * 200_000,
        "<phase_blocked>" + "\n\t" * 100_000,
        "<phase_blocked> " * 20_000,
        "x" + "`" * 200_000,
        "<" + "a_complete" * 100_000,
        "<phase_complete>" * 50_000,
        "<implement_complete>true" * 30_000,
    ],
    ids=["complete", "blocked", "again", "code", "long name", "opened", "unclosed"],
)
def test_a_mark_that_never_ends_takes_no_time(piece: str) -> None:
    """The run waits while an answer is parsed, so no answer may take long."""
    begun = time.monotonic()
    assert check_phase_completion(piece, "implement") is None
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Added a slug.\n\n<phase_complete>true</phase_complete>\n", "Added a slug."),
        ("<implement_complete>true</implement_complete>", ""),
        (
            "Half done.\n<phase_blocked>reason: Which colour?</phase_blocked>",
            "Half done.\nreason: Which colour?",
        ),
        ('{"status": "complete", "reason": "", "summary": "Rounded the prices."}', "Rounded the prices."),
        ('{"status": "blocked", "reason": "Which colour?", "summary": ""}', "Which colour?"),
        (
            'I looked.\n\n```json\n{"status": "complete", "summary": "All 3 pass."}\n```\n',
            "I looked.\n\nAll 3 pass.",
        ),
        ('Done.\n{"status": "blocked", "reason": "No key", "summary": ""}', "Done.\n\nNo key"),
        ('The config is {"port": 80} now.', 'The config is {"port": 80} now.'),
    ],
)
def test_the_final_words_have_no_marks_and_no_json(answer: str, words: str) -> None:
    """What a person reads about the work is the agent's text, however the agent answers."""
    assert read_final_words(answer) == words
