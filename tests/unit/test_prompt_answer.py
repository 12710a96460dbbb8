"""Structured answers are found where they are expected, and nowhere else."""

from __future__ import annotations

import json
import time

import pytest

from ostler.prompt.answer import ANSWER_SCHEMA, NO_REASON, STRUCTURED_PHASES, Mark, extract_text, read_answer
from ostler.prompt.completion import check_phase_completion

DONE = '{"status": "complete", "reason": "", "summary": "oiled"}'
STUCK = '{"status": "blocked", "reason": "no key", "summary": "s"}'
COMPLETE, BLOCKED = Mark("complete", summary="oiled"), Mark("blocked", "no key", "s")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("complete", None),
        ("null", None),
        ("[]", None),
        ("{}", None),
        (DONE, COMPLETE),
        (f"\n  {DONE}\n", COMPLETE),
        (STUCK, BLOCKED),
        ('{"status": "continue", "reason": null, "summary": "half"}', Mark("continue", summary="half")),
        ('{"status": "COMPLETE"}', Mark("complete")),
        ('{"status": " Blocked "}', Mark("blocked", NO_REASON)),
        ('{"status": "blocked", "reason": " ", "summary": "no key"}', Mark("blocked", "no key", "no key")),
        ('{"status": "done"}', None),
        ('{"status": true}', None),
        ('{"status": ["complete"]}', None),
        ('{"status": "complete", "reason": 5}', None),
        ('{"status": "complete", "extra": {"status": "blocked"}}', Mark("complete")),
        ('{"result": {"status": "complete"}}', None),
        ('{"status": "complete"', None),
        (f"(no content){DONE}", COMPLETE),
        (f"Here it is:\n```json\n{DONE}\n```\nBye.", COMPLETE),
        (f"```JSON\n{DONE}\n```", COMPLETE),
        (f"```\n{DONE}\n```", COMPLETE),
        (f"```python\n{DONE}\n```", None),
        (f"~~~\n{DONE}\n~~~", COMPLETE),
        (f"```json\n{DONE}\n```\n```json\n{STUCK}\n```", BLOCKED),
        (f"```json\n{STUCK}\n```\nor {DONE}", COMPLETE),
        (f"{DONE}\n```json\n{STUCK}\n```", BLOCKED),
        ('No key.\n```json\n{"status": "blocked", "reason": "no key"}\n```', Mark("blocked", "no key")),
        ('I stop: {"status": "blocked", "reason": "no key"} and wait.', Mark("blocked", "no key")),
        ('I stop: {"status": "blocked"}', Mark("blocked", NO_REASON)),
        ('I stop.\n{"status": "blocked", "question": "Which key?"}', Mark("blocked", "Which key?")),
        ('The job answers {"status": "blocked"} now.', None),
        ('The job answers {"status": "blocked", "reason": "x", "id": 7} now.', None),
        (f"I say {DONE}.", COMPLETE),
        (f"First {STUCK}, then {DONE}", COMPLETE),
        (f'{DONE} and {{"other": 1}}', COMPLETE),
        (f"a {{ that is never closed, then {DONE}", COMPLETE),
        (f"}} }} {DONE} }}", COMPLETE),
        (f'5" of {{x}} and {DONE}', COMPLETE),
        (f"outer {{ {DONE} }}", None),
        ('The job answers {"status": "complete"} now.', None),
        ('{"status": "complete", "summary": "} { \\" }"}!', Mark("complete", summary='} { " }')),
        ('"status": "complete"', None),
        ('{"status": "complete", "summary": "\ud800"}', None),
    ],
)
def test_answers(text: str, expected: Mark | None) -> None:
    """The whole text, else the last object, in a block or between outermost braces (C100, T9)."""
    assert read_answer(text) == expected


def test_an_object_of_the_prompt_is_an_echo() -> None:
    """An example of the task that is repeated in a text is not an answer."""
    prompt = f"Write a file with {DONE} in it."
    assert read_answer(f"I shall write {DONE} there.", prompt) is None
    assert read_answer(f"```json\n{DONE}\n```", prompt) is None
    assert read_answer(f"I wrote {DONE}. {STUCK}", prompt) == BLOCKED
    assert read_answer(DONE, prompt) == COMPLETE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (DONE, "oiled"),
        (STUCK, "s\n\nno key"),
        ('{"status": "blocked", "reason": "no key", "summary": ""}', "no key"),
        ('{"status": "blocked", "reason": "no key", "summary": "I stop: no key."}', "I stop: no key."),
        ('{"status": "complete", "reason": "ignored", "summary": ""}', ""),
        ('{"status": "unheard of", "summary": "x"}', '{"status": "unheard of", "summary": "x"}'),
        (f"I say {DONE}.", f"I say {DONE}."),
        ("Plain words.", "Plain words."),
    ],
)
def test_an_answer_in_plain_words(text: str, words: str) -> None:
    """People and later prompts get the text, not the object."""
    assert extract_text(text) == words


def test_phases_that_hand_on_a_document_are_not_shaped() -> None:
    """The next phase reads the whole text."""
    assert STRUCTURED_PHASES.isdisjoint({"research", "spec", "design", "docs", "review"})


def test_the_last_of_marks_and_json_counts() -> None:
    """Without a schema the last of both counts (T9); with one, marks are the fallback."""
    mark = "<phase_complete>true</phase_complete>"
    assert check_phase_completion(STUCK, "test") == BLOCKED
    assert check_phase_completion(f"{STUCK}\n{mark}", "test") == Mark("complete")
    assert check_phase_completion(f"{mark}\n```json\n{STUCK}\n```", "test") == BLOCKED
    assert check_phase_completion(f"{STUCK}\n{mark}", "test", structured=True) == BLOCKED
    assert check_phase_completion(f"Done. {mark}", "test", structured=True) == Mark("complete")


def test_the_schema_is_strict_and_plain_json() -> None:
    """Codex requires that every property is required and no other allowed."""
    assert json.loads(json.dumps(ANSWER_SCHEMA)) == ANSWER_SCHEMA
    properties = ANSWER_SCHEMA["properties"]
    assert isinstance(properties, dict) and ANSWER_SCHEMA["required"] == list(properties)
    assert ANSWER_SCHEMA["additionalProperties"] is False


HOSTILE = (
    *("{", "}", "{}", '{"a":', '{"', '"', '\\"', '{"\\"', "```json\n", "```json\n{\n```\n", "[", "`", "x"),
    *('{"status": "done"} ', '{"status": "complete"} ', '{"a": "' + "\\" * 99, "{ {} "),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("piece", "size"), [*((piece, 500_000) for piece in HOSTILE), ('{"a":', 5_000_000)])
def test_a_long_answer_takes_no_time(piece: str, size: int) -> None:
    """The run waits while an answer is parsed, so the time must be linear."""
    text = piece * (size // len(piece))
    begun = time.monotonic()
    read_answer(text, 'a prompt with {"status": "complete"} in it')
    assert time.monotonic() - begun < 20
