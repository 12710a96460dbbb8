"""The values of the variables."""

from __future__ import annotations

from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.prompt.retry import Retry
from ostler.prompt.variables import KNOWN, EarlierResults, WorkingDirectory, build_template_vars

TASK = Task("Mend the gate", " It squeaks.\n", TaskId("gate-ab12"), weight="large")
PLACE = WorkingDirectory("/w/gate", "ostler/gate-ab12", "main")
FINDINGS = EarlierResults("It is iron.", "Oil it.", "A can.", "One drop missing.", 2, "3 passed")
RETRY = Retry("test", "implement", 1, "it squeaks", "squeak\nsqueak", "/t/retry-context-test-1.md")


def test_every_variable_is_filled() -> None:
    """The seed left descriptions, earlier content and the retry context empty; here each has its value."""
    filled = build_template_vars(TASK, "implement", 3, RETRY, workdir=PLACE, results=FINDINGS)
    context = filled.pop("RETRY_CONTEXT")
    assert filled == {
        "TASK_ID": "gate-ab12",
        "TASK_TITLE": "Mend the gate",
        "TASK_DESCRIPTION": "It squeaks.",
        "PHASE": "implement",
        "WEIGHT": "large",
        "ITERATION": "3",
        "WORKTREE_PATH": "/w/gate",
        "TASK_BRANCH": "ostler/gate-ab12",
        "TARGET_BRANCH": "main",
        "RESEARCH_CONTENT": "It is iron.",
        "SPEC_CONTENT": "Oil it.",
        "DESIGN_CONTENT": "A can.",
        "REVIEW_FINDINGS": "One drop missing.",
        "REVIEW_ROUND": "2",
        "VERIFICATION_RESULTS": "3 passed",
        "RETRY_ATTEMPT": "1",
        "RETRY_FROM_PHASE": "test",
        "RETRY_REASON": "it squeaks",
        "RETRY_FEEDBACK": "squeak\nsqueak",
    }
    assert {*filled, "RETRY_CONTEXT"} == KNOWN
    assert "test" in context and "it squeaks" in context and "/t/retry-context-test-1.md" in context


def test_what_is_not_there_is_empty() -> None:
    """Every variable has a value, possibly empty."""
    bare = build_template_vars(Task("t"), "test")
    assert set(bare) == KNOWN
    assert {name for name, value in bare.items() if value} == {"TASK_TITLE", "PHASE", "WEIGHT", "ITERATION"}


def test_content_comes_without_its_mark_and_not_without_end() -> None:
    """The mark of a spec is removed, and a very long answer is shortened."""
    spec = "Oil it.\n\n<phase_complete>true</phase_complete>\n"
    assert build_template_vars(TASK, "test", results=EarlierResults(spec=spec))["SPEC_CONTENT"] == "Oil it."
    huge = build_template_vars(TASK, "test", results=EarlierResults(spec=f"BEGIN{'x' * 5_000_000}END"))
    content = huge["SPEC_CONTENT"]
    assert content.startswith("BEGIN") and content.endswith("END") and len(content) < 61_000
    assert "characters are left out here" in content
