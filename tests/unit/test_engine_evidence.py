"""The verdict on a successful call (contract.md, "Evidence")."""

from __future__ import annotations

import json

import pytest

from ostler.engine.steps.agent_call.evidence import Evidence, depends_on_changes, evaluate
from ostler.model.task import Weight
from ostler.prompt.report import AgentReport

DONE, BLOCKED = "<phase_complete>true</phase_complete>", "<phase_blocked>no key</phase_blocked>"


@pytest.mark.parametrize(
    ("text", "weight", "speaks", "changed", "verdict", "warnings"),
    [
        (DONE, "small", True, False, "complete", ()),
        (DONE, "small", True, True, "complete", ()),
        (BLOCKED, "small", True, True, "blocked", ()),
        ("Done.", "small", True, True, "continue", ()),
        ("Done.", "small", True, False, "continue", ()),
        ("Done.", "trivial", True, True, "complete", ("NO_MARK",)),
        ("Done.", "trivial", True, False, "continue", ()),
        ("Done.", "large", False, True, "complete", ("NO_MARK",)),
        ("Done.", "small", False, False, "continue", ()),
        (BLOCKED, "trivial", False, True, "blocked", ()),
    ],
)
def test_the_table_of_evidence(
    text: str, weight: Weight, speaks: bool, changed: bool, verdict: str, warnings: tuple[str, ...]
) -> None:
    """A mark decides; without one, a change completes trivial tasks and agents without status reports."""
    found = evaluate(Evidence(text, "", "implement", weight, speaks, changed))
    assert (found.verdict, found.warnings) == (verdict, warnings)
    assert found.message == ("no key" if verdict == "blocked" else "")


@pytest.mark.parametrize(
    ("text", "weight", "speaks", "hinges"),
    [
        (DONE, "trivial", True, False),
        (BLOCKED, "trivial", False, False),
        ("Done.", "small", True, False),
        ("Done.", "trivial", True, True),
        ("Done.", "large", False, True),
    ],
)
def test_the_workspace_is_looked_at_only_where_it_decides(
    text: str, weight: Weight, speaks: bool, hinges: bool
) -> None:
    """Git runs only if there is no mark and a change would complete the phase."""
    assert depends_on_changes(Evidence(text, "", "implement", weight, speaks)) == hinges


def answer(status: str, summary: str = "s") -> str:
    return json.dumps({"status": status, "reason": "no key", "summary": summary})


@pytest.mark.parametrize(
    ("text", "weight", "verdict", "warnings"),
    [
        (answer("complete"), "small", "complete", ()),
        (answer("complete", f"It said {BLOCKED}"), "small", "complete", ()),
        (answer("blocked", DONE), "small", "blocked", ()),
        (answer("continue", DONE), "small", "continue", ()),
        (answer("continue"), "trivial", "continue", ()),
        (answer("finished"), "small", "continue", ()),
        (answer("finished"), "trivial", "complete", ("NO_MARK",)),
        (answer("complete")[:-1], "small", "continue", ()),
        (f"I never gave the object. {DONE}", "small", "complete", ()),
        (BLOCKED, "small", "blocked", ()),
        ("I never gave the object.", "small", "continue", ()),
        ("I never gave the object.", "trivial", "complete", ("NO_MARK",)),
    ],
)
def test_a_structured_answer_comes_first_and_marks_second(
    text: str, weight: Weight, verdict: str, warnings: tuple[str, ...]
) -> None:
    """An unreadable structured answer falls back to marks, then to one more iteration."""
    found = evaluate(Evidence(text, "", "implement", weight, True, True, structured=True))
    assert (found.verdict, found.warnings) == (verdict, warnings)
    assert found.message == ("no key" if verdict == "blocked" else "")


def test_an_object_is_ignored_without_a_schema() -> None:
    """Without a schema, a JSON object in the answer has no meaning."""
    assert evaluate(Evidence(answer("complete"), "", "implement", "small", True)).verdict == "continue"


def test_the_agents_own_report_is_stronger_than_its_answer() -> None:
    """`ostler report` and the state file override marks."""
    said = Evidence(
        answer("complete"), "", "test", "small", True, structured=True, report=AgentReport("paused")
    )
    assert evaluate(said).verdict == "paused"
