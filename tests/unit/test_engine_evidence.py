"""The verdict on a successful call (contract.md, "Evidence")."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from ostler.engine.steps.agent_call.evidence import Evidence, depends_on_changes, evaluate
from ostler.model.task import Weight
from ostler.prompt.report import AgentReport

DONE, BLOCKED = "<phase_complete>true</phase_complete>", "<phase_blocked>no key</phase_blocked>"


@pytest.mark.parametrize(
    ("text", "weight", "reports_status", "changed", "verdict", "warnings"),
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
    text: str, weight: Weight, reports_status: bool, changed: bool, verdict: str, warnings: tuple[str, ...]
) -> None:
    """A mark decides; without one, a change completes trivial tasks and agents without status reports."""
    found = evaluate(Evidence(text, "", "implement", weight, reports_status, changed))
    assert (found.verdict, found.warnings) == (verdict, warnings)
    assert found.message == ("no key" if verdict == "blocked" else "")


@pytest.mark.parametrize(
    ("text", "weight", "reports_status", "depends"),
    [
        (DONE, "trivial", True, False),
        (BLOCKED, "trivial", False, False),
        ("Done.", "small", True, False),
        ("Done.", "trivial", True, True),
        ("Done.", "large", False, True),
    ],
)
def test_the_workspace_is_looked_at_only_where_it_decides(
    text: str, weight: Weight, reports_status: bool, depends: bool
) -> None:
    """Git runs only if there is no mark and a change would complete the phase."""
    assert depends_on_changes(Evidence(text, "", "implement", weight, reports_status)) == depends


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


def test_an_object_counts_without_a_schema() -> None:
    """The last JSON object of the text is an answer, enforced or not (T9)."""
    assert evaluate(Evidence(answer("complete"), "", "implement", "small", True)).verdict == "complete"
    blocked = evaluate(
        Evidence(f"```json\n{answer('blocked')}\n```", "", "implement", "trivial", False, True)
    )
    assert (blocked.verdict, blocked.message) == ("blocked", "no key")


ASKS = "I painted it. Which colour do you want?"


@pytest.mark.parametrize(
    ("text", "structured", "verdict"),
    [
        (ASKS, False, "blocked"),
        (answer("continue", ASKS), True, "blocked"),
        (answer("complete", ASKS), True, "complete"),
        (f"Done. Want me to also add a test? {DONE}", False, "complete"),
        (f"{DONE}\nWant me to also add a test?", False, "complete"),
    ],
)
@pytest.mark.parametrize("weight", ["trivial", "small"])
def test_a_final_question_blocks_unless_the_agent_reports_completion(
    text: str, structured: bool, verdict: str, weight: Weight
) -> None:
    """A question is for a person, whatever was changed (T7)."""
    found = evaluate(Evidence(text, "", "implement", weight, True, True, structured=structured))
    assert found.verdict == verdict
    if verdict == "blocked":
        assert (found.code, found.message) == ("NEEDS_INPUT", "Which colour do you want?")


def test_a_document_may_end_in_a_question() -> None:
    """Its text is the result; only a blocked mark at its end is none (T27)."""
    page = Evidence("# FAQ\n\nReady to start?", "", "write", "small", True, is_document=True)
    assert evaluate(page).verdict == "complete"
    assert evaluate(replace(page, text=f"# FAQ\n\n{BLOCKED}")).message == "no key"
    assert evaluate(replace(page, text=DONE)).verdict == "continue"


def test_the_agents_own_report_is_stronger_than_its_answer() -> None:
    """`ostler report` and the state file override marks."""
    printed = Evidence(
        answer("complete"), "", "test", "small", True, structured=True, report=AgentReport("paused")
    )
    assert evaluate(printed).verdict == "paused"
