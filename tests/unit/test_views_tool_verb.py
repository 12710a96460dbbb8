"""The verb of a tool, whatever its agent calls it."""

from __future__ import annotations

import pytest

from ostler.views.agent_work.tool_verb import find_verb


@pytest.mark.parametrize(
    ("tool", "verb"),
    [
        ("Bash", "run"),
        ("run_shell_command", "run"),
        ("MultiEdit", "edit"),
        ("apply_patch", "edit"),
        ("read_file", "read"),
        ("TodoWrite", "plan"),
        ("WebSearch", "look up"),
        ("mcp__github__get_issue", "github get_issue"),
        ("Step", "Step"),
    ],
)
def test_a_tool_has_a_verb(tool: str, verb: str) -> None:
    """A tool without a known word keeps its name."""
    assert find_verb(tool) == verb
