"""What an agent is told."""

from __future__ import annotations

from ostler.model.task import Task
from ostler.prompt.builder import Past, Place, build_prompt, interruption_note
from ostler.prompt.completion import check_phase_completion

TASK = Task("Greet", "Write hello.txt with {{TASK_ID}} in it")
PLACE = Place("/w/greet", "ostler/greet-ab12")


def test_the_first_prompt_has_task_place_and_marks() -> None:
    """Title, body as it was written, directory, branch and how to end."""
    prompt = build_prompt(TASK, PLACE, Past())
    for part in (
        "# Greet",
        "{{TASK_ID}}",
        "/w/greet",
        "ostler/greet-ab12",
        "phase_complete",
        "phase_blocked",
    ):
        assert part in prompt


def test_a_prompt_that_is_echoed_is_no_mark() -> None:
    """An agent that repeats its whole prompt has said nothing."""
    prompt = build_prompt(TASK, PLACE, Past())
    assert check_phase_completion(prompt, "implement", prompt) is None
    assert check_phase_completion(prompt, "implement") is None


def test_a_continued_session_is_not_told_the_task_again() -> None:
    """Resume sends only what is new (C6)."""
    prompt = build_prompt(TASK, PLACE, Past(iteration=2, knows_task=True))
    assert "Greet" not in prompt and "phase_complete" in prompt


def test_a_fresh_session_gets_the_last_answer() -> None:
    """Trivial: the answer of the iteration before is carried over."""
    prompt = build_prompt(TASK, PLACE, Past(iteration=2, last_answer="I wrote half of it."))
    assert "# Greet" in prompt and "I wrote half of it." in prompt


def test_a_resumed_agent_is_told_what_happened() -> None:
    """X7: the interruption and where its changes are."""
    note = interruption_note("the run was stopped in the middle of it", PLACE)
    prompt = build_prompt(TASK, PLACE, Past(interruption=note, knows_task=True))
    assert "the run was stopped in the middle of it" in prompt and "git status" in prompt
    assert "git status" not in interruption_note("x", Place("/w"))
