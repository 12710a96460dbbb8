"""The prompt of an agent."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ostler.model.task import Task
from ostler.prompt.builder import CallHistory, build_prompt, describe_interruption
from ostler.prompt.completion import check_phase_completion
from ostler.prompt.retry import Retry
from ostler.prompt.template import Template
from ostler.prompt.variables import WorkingDirectory

TASK = Task("Greet", "Write hello.txt with {{TASK_ID}} in it")
PLACE = WorkingDirectory("/w/greet", "ostler/greet-ab12")


def test_the_first_prompt_has_task_place_and_marks() -> None:
    """Title, body as written, directory, branch and how to end."""
    prompt = build_prompt(TASK, PLACE, CallHistory())
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
    """An agent that repeats its whole prompt has reported nothing."""
    prompt = build_prompt(TASK, PLACE, CallHistory())
    assert check_phase_completion(prompt, "implement", prompt) is None
    assert check_phase_completion(prompt, "implement") is None


def test_a_continued_session_does_not_get_the_task_again() -> None:
    """Resume sends only what is new (C6)."""
    prompt = build_prompt(TASK, PLACE, CallHistory(iteration=2, session_has_task=True))
    assert "Greet" not in prompt and "phase_complete" in prompt


def test_a_fresh_session_gets_the_last_answer() -> None:
    """Trivial: the answer of the previous iteration is included."""
    prompt = build_prompt(TASK, PLACE, CallHistory(iteration=2, last_answer="I wrote half of it."))
    assert "# Greet" in prompt and "I wrote half of it." in prompt


def test_a_resumed_agent_gets_what_happened() -> None:
    """X7: the interruption and where its changes are."""
    note = describe_interruption("the run was stopped in the middle of it", PLACE)
    prompt = build_prompt(TASK, PLACE, CallHistory(interruption=note, session_has_task=True))
    assert "the run was stopped in the middle of it" in prompt and "git status" in prompt
    assert "git status" not in describe_interruption("x", WorkingDirectory("/w"))


RETRY = Retry("test", "implement", 1, "the tests fail", "2 failed", "/t/retry-context-test-1.md")
OWN = Template("Do {{TASK_TITLE}} in {{PHASE}}, round {{ITERATION}}.", "inline")


def headings(prompt: str) -> list[str]:
    return [line for line in prompt.splitlines() if line.startswith("#")]


def test_a_plain_task_reads_as_ever() -> None:
    """The first phase has the task, the instructions, the directory and how to end."""
    prompt = build_prompt(TASK, PLACE, CallHistory())
    assert headings(prompt) == ["# Greet", "## This phase: implement", "## Where you are", "## How to end"]
    assert "\n\n\n" not in prompt and prompt.endswith("instead.\n")


def test_what_happened_before_comes_after_the_template() -> None:
    """The last answer, the interruption and the feedback, in this order, each in its own section."""
    past = CallHistory(iteration=2, last_answer="half", interruption="It was killed.", feedback="Use blue.\n")
    prompt = build_prompt(TASK, PLACE, past, "implement", OWN)
    assert prompt.startswith("Do Greet in implement, round 2.\n\n## Your answer")
    assert headings(prompt) == [
        "## Your answer in the last iteration",
        "## What happened before",
        "## Feedback from a person",
        "## How to end",
    ]
    assert "## Feedback from a person\n\nUse blue.\n\n##" in prompt


def test_feedback_is_sent_to_a_session_that_has_the_task() -> None:
    """`resume -m` continues the session with the feedback, and repeats nothing."""
    prompt = build_prompt(TASK, PLACE, CallHistory(iteration=3, session_has_task=True, feedback="Use blue."))
    assert prompt.startswith("Continue with the task.\n\n## Feedback from a person\n\nUse blue.")
    assert "You have not stated" not in prompt and "Greet" not in prompt


@pytest.mark.parametrize("template", [None, OWN])
@pytest.mark.parametrize("has_task", [False, True])
def test_the_reason_of_a_retry_is_reported_once(template: Template | None, has_task: bool) -> None:
    """With and without a session, and with and without the variable in the template."""
    prompt = build_prompt(
        TASK, PLACE, CallHistory(retry=RETRY, session_has_task=has_task), "implement", template
    )
    for part in ("## What went wrong before", "the tests fail", "2 failed", RETRY.path):
        assert prompt.count(part) == 1
    again = CallHistory(iteration=2, retry=RETRY, retry_delivered=True, session_has_task=True)
    later = build_prompt(TASK, PLACE, again)
    assert "the tests fail" not in later


def test_a_structured_ending_reports_what_the_fields_mean() -> None:
    """The marks are included for agents without a schema; an echoed prompt is not an answer."""
    prompt = build_prompt(TASK, PLACE, CallHistory(), structured=True)
    assert "status is complete" in prompt and "summary" in prompt and "If no object is requested" in prompt
    assert check_phase_completion(prompt, "implement", prompt, structured=True) is None


def test_the_last_answer_is_bounded_and_has_no_mark() -> None:
    """A very long answer is shortened, and its marks are removed."""
    last = (
        "<phase_complete>false</phase_complete>" + "x" * 5_000_000 + "\n<test_complete>true</test_complete>"
    )
    prompt = build_prompt(TASK, PLACE, CallHistory(iteration=2, last_answer=last))
    assert len(prompt) < 50_000 and "<test_complete>" not in prompt and "characters are left out" in prompt


@pytest.mark.parametrize(
    "reason",
    [{"missing": "Every file is as it was."}, {"feedback": "Use blue."}, {"interruption": "It was killed."}],
)
def test_only_an_answer_without_a_mark_is_asked_for_it(reason: dict[str, str]) -> None:
    """A new session that has another reason is not told that its answer had no mark."""
    ask = "You have not stated whether the work is complete"
    assert ask in build_prompt(TASK, PLACE, CallHistory(iteration=2, last_answer="half"))
    prompt = build_prompt(TASK, PLACE, CallHistory(iteration=2, last_answer="half", **reason))
    assert ask not in prompt and "half" in prompt


def test_a_new_session_gets_earlier_feedback_too() -> None:
    """A session that has the task received it; a new one in the same phase did not."""
    past = CallHistory(iteration=3, earlier_feedback=("Use blue.",), feedback="And green.\n")
    assert "## Feedback from a person\n\nUse blue.\n\nAnd green.\n" in build_prompt(TASK, PLACE, past)
    assert "Use blue" not in build_prompt(TASK, PLACE, replace(past, session_has_task=True))
