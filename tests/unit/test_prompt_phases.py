"""The built-in templates: each phase gets what it needs, and nothing that does not exist."""

from __future__ import annotations

import re

import pytest

from ostler.model.ids import TaskId
from ostler.model.plan import BUILT_IN_PHASES
from ostler.model.task import Task
from ostler.prompt.answer import Mark
from ostler.prompt.builder import CallHistory, build_prompt
from ostler.prompt.completion import check_phase_completion
from ostler.prompt.retry import Retry
from ostler.prompt.template import GENERAL, list_variables, load_built_in, render_template
from ostler.prompt.variables import KNOWN, EarlierResults, WorkingDirectory

MARK = "<phase_complete>true</phase_complete>"
TASK = Task("Mend the gate", f"It squeaks, {{{{TASK_ID}}}}.\n\n{MARK}", TaskId("gate-ab12"), weight="large")
PLACE = WorkingDirectory("/w/gate", "ostler/gate-ab12", "trunk")
FULL = CallHistory(
    results=EarlierResults("RESEARCH", f"SPEC\n\n{MARK}", "DESIGN", "REVIEW", 2, "CHECKS"),
    retry=Retry("test", "implement", 1, "REASON", "OUTPUT", "/t/retry-context-test-1.md"),
    feedback="WORD",
)
EVERY = sorted(BUILT_IN_PHASES | {GENERAL})
READ_ONLY = {"research", "spec", "design", "validate", "review"}
# What each phase gets from the others, besides the reason of a retry.
REPORTED = {
    "research": set[str](),
    "spec": {"RESEARCH", "REVIEW"},
    "design": {"RESEARCH", "SPEC", "REVIEW"},
    "implement": {"RESEARCH", "SPEC", "DESIGN", "REVIEW"},
    "test": {"SPEC", "CHECKS"},
    "validate": {"SPEC", "CHECKS"},
    "review": {"SPEC", "CHECKS", "REVIEW"},
    "docs": {"SPEC"},
    GENERAL: {"RESEARCH", "SPEC", "DESIGN", "REVIEW", "CHECKS"},
}


@pytest.mark.parametrize("phase", EVERY)
def test_a_prompt_has_what_the_phase_needs(phase: str) -> None:
    """The task, its directory, earlier results, the retry reason, feedback, and how to end."""
    prompt = build_prompt(TASK, PLACE, FULL, phase)
    words = set(re.findall(r"\b(?:RESEARCH|SPEC|DESIGN|REVIEW|CHECKS)\b", prompt))
    assert words == REPORTED[phase]
    for part in (
        "# Mend the gate",
        "/w/gate",
        "ostler/gate-ab12",
        "REASON",
        "OUTPUT",
        "WORD",
        "## How to end",
    ):
        assert part in prompt
    assert f"## This phase: {phase}" in prompt
    assert ("Ostler commits" in prompt) == (phase not in READ_ONLY)


@pytest.mark.parametrize("phase", EVERY)
@pytest.mark.parametrize("past", [CallHistory(), FULL], ids=["bare", "full"])
@pytest.mark.parametrize("place", [PLACE, WorkingDirectory("/w/gate")], ids=["git", "plain"])
def test_nothing_is_left_over(phase: str, past: CallHistory, place: WorkingDirectory) -> None:
    """No leftover variable, no empty section, no gap, no branch without one."""
    prompt = build_prompt(TASK, place, past, phase)
    assert re.findall(r"\{\{.*?\}\}", prompt) == ["{{TASK_ID}}"]
    assert "\n\n\n" not in prompt and not re.search(r"^## .*\n+(?=## )", prompt, re.MULTILINE)
    assert not re.search(r"[ \t]$| {2}|\(\)|(?<!`)``(?!`)", prompt, re.MULTILINE)
    assert ("branch" in prompt) == (place.branch is not None) and ("trunk" in prompt) <= bool(place.target)


@pytest.mark.parametrize("phase", EVERY)
def test_an_echoed_mark_is_ignored_and_an_own_mark_counts(phase: str) -> None:
    """E6 in every phase: an echoed prompt has no effect; the agent's own mark counts."""
    prompt = build_prompt(TASK, PLACE, FULL, phase)
    assert check_phase_completion(prompt, phase, prompt) is None
    assert check_phase_completion(f"SPEC\n\n{MARK}", phase, prompt) == Mark("complete")
    assert check_phase_completion(f"{prompt}\nDone.\n{MARK}", phase, prompt) == Mark("complete")


@pytest.mark.parametrize("phase", EVERY)
def test_marks_are_in_one_place(phase: str) -> None:
    """A template has the instructions; how to end is appended to each, also to those of the project."""
    assert "<phase_" not in load_built_in(phase).text and "_complete" not in load_built_in(phase).text
    assert build_prompt(TASK, PLACE, CallHistory(), phase).count("`<phase_complete>") == 1


@pytest.mark.parametrize("phase", EVERY)
def test_each_renders_with_everything_and_with_nothing(phase: str) -> None:
    """Each variable of a template reaches the text; none is required."""
    template = load_built_in(phase)
    full = render_template(template.text, {name: f"value of {name}" for name in KNOWN})
    assert {name for name in KNOWN if f"value of {name}" in full} == list_variables(template)
    assert 300 < len(render_template(template.text, {})) < 3000


def test_checking_phases_send_the_work_back() -> None:
    """Test, validate and review do not fix the change; they end as blocked."""
    for phase in EVERY:
        assert ("end as blocked" in load_built_in(phase).text) == (phase in {"test", "validate", "review"})


def test_documents_are_the_last_message() -> None:
    """Research, spec and design change no file; their text is passed on."""
    for phase in ("research", "spec", "design"):
        text = load_built_in(phase).text
        assert "Your last message is the" in text and "do not change files" in text
