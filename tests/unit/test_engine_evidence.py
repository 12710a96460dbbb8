"""What a successful call proves (contract.md, "Evidence")."""

from __future__ import annotations

import pytest

from ostler.engine.steps.evidence import Witness, hinges_on_changes, judge
from ostler.model.task import Weight

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
    """A mark decides; without one, a change counts for trivial tasks and for agents that cannot speak."""
    found = judge(Witness(text, "", "implement", weight, speaks, changed))
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
    """Git is asked when there is no mark and a change would count, and at no other time."""
    assert hinges_on_changes(Witness(text, "", "implement", weight, speaks)) == hinges
