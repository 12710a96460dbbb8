"""The protecting settings of an open task: stricter values apply at once, looser ones after acceptance."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ostler.model.plan import Gate, build_plan
from ostler.model.policy.protection import (
    Check,
    Protection,
    add_planned_gates,
    combine,
    combine_gates,
    list_differences,
    protection_of_plan,
)

NONE, HUMAN, AI = Gate(), Gate("human"), Gate("ai")
PYTEST, TRUE = Gate("command", command="pytest"), Gate("command", command="true")
CRITERIA = Gate("auto", ("has_output",))
LINT = Check("ruff", "implement", "block", 120.0)


@pytest.mark.parametrize(
    ("accepted", "live", "used"),
    [
        (NONE, PYTEST, PYTEST),  # added: at once
        (PYTEST, NONE, PYTEST),  # removed: after acceptance
        (PYTEST, Gate("skip"), PYTEST),
        (PYTEST, TRUE, PYTEST),  # another command
        (HUMAN, AI, HUMAN),
        (AI, HUMAN, HUMAN),
        (PYTEST, HUMAN, Gate("human", command="pytest")),  # the command stays
        (HUMAN, PYTEST, Gate("human", command="pytest")),
        (PYTEST, Gate("human", command="pytest"), Gate("human", command="pytest")),
        (CRITERIA, PYTEST, Gate("command", ("has_output",), "pytest")),
        (CRITERIA, NONE, CRITERIA),
        (NONE, Gate("skip"), Gate("skip")),
    ],
)
def test_two_gates_become_the_stricter_one(accepted: Gate, live: Gate, used: Gate) -> None:
    """The combined gate checks what both check."""
    assert combine_gates(accepted, live) == used


@pytest.mark.parametrize(
    ("name", "accepted", "live", "used"),
    [
        ("publish", "none", "merge", "none"),
        ("publish", "none", "pr", "none"),
        ("publish", "merge", "none", "none"),
        ("publish", "merge", "pr", "pr"),
        ("publish", "pr", "merge", "pr"),
        ("permissions", {"a": "ask"}, {}, {"a": "ask"}),
        ("permissions", {}, {"a": "skip"}, {"a": "auto"}),
        ("permissions", {"a": "accept-edits"}, {}, {"a": "accept-edits"}),
        ("permissions", {}, {"a": "accept-edits"}, {"a": "accept-edits"}),
        ("permissions", {"a": "skip"}, {"a": "ask"}, {"a": "ask"}),
        ("unsandboxed_skip", False, True, False),
        ("unsandboxed_skip", True, False, False),
        ("env_allow", ("A",), ("A", "B"), ("A",)),
        ("env_allow", ("A", "B"), ("B",), ("B",)),
        ("tier", "auto", "supervised", "auto"),
        ("tier", "auto", "bubblewrap", "bubblewrap"),
        ("network", "proxy", "on", "proxy"),
        ("network", "proxy", "off", "off"),
        ("allow_hosts", (), ("example.org",), ()),
        ("allow_paths", ("/a",), (), ()),
        ("home", (), (".claude/CLAUDE.md",), ()),
        ("writable_config", (), (".vscode",), ()),
        ("allow_secrets", False, True, False),
        ("task_usd", 1.0, 5.0, 1.0),
        ("task_usd", 5.0, 1.0, 1.0),
        ("task_usd", 5.0, None, 5.0),
        ("day_usd", None, 9.0, 9.0),
        ("isolation", "auto", "none", "auto"),
        ("isolation", "auto", "bind-over", "bind-over"),
        ("control", True, False, True),
        ("uncontrolled", (), ("test",), ()),
        ("allow_test_changes", False, True, False),
        ("approve_after_seconds", None, 1.0, None),
        ("approve_after_seconds", 9.0, 1.0, 9.0),
        ("auto_merge", False, True, False),
        ("accept_proposals", False, True, False),
        ("target", "main", "release", "main"),
        ("push_remote", "", "fork", ""),
        ("setup", "npm ci", "true", "npm ci"),
        ("copy", (), (".env",), ()),
        ("link", (".venv",), (), (".venv",)),
        ("checks", {}, {"lint": LINT}, {"lint": LINT}),
        ("checks", {"lint": LINT}, {}, {"lint": LINT}),
        ("checks", {"lint": LINT}, {"lint": replace(LINT, command="true")}, {"lint": LINT}),
        ("checks", {"lint": LINT}, {"lint": replace(LINT, on_failure="warn")}, {"lint": LINT}),
        ("checks", {"lint": replace(LINT, on_failure="warn")}, {"lint": LINT}, {"lint": LINT}),
        ("checks", {"lint": replace(LINT, on_failure="skip")}, {"lint": LINT}, {"lint": LINT}),
    ],
)
def test_the_stricter_value_is_used(name: str, accepted: Any, live: Any, used: Any) -> None:
    """A difference is listed exactly when the settings are looser than the values in use."""
    before, now = Protection(**{name: accepted}), Protection(**{name: live})
    assert getattr(combine(before, now), name) == used
    assert bool(list_differences(before, now)) == (used != live)


def test_a_newly_allowed_skip_needs_acceptance() -> None:
    """permissions = "skip" was set but refused; allowing it without a sandbox is a looser setting."""
    before = Protection(permissions={"a": "skip"})
    now = Protection(permissions={"a": "skip"}, unsandboxed_skip=True)
    assert combine(before, now).permissions == {"a": "auto"}


def test_a_difference_names_both_values() -> None:
    """The text is shown by `ostler show`."""
    before, now = Protection({"test": PYTEST}, "none"), Protection({"test": TRUE}, "merge")
    assert [one.text for one in list_differences(before, now)] == [
        "ostler.toml has gate test = command `true`; this task uses command `pytest`",
        'ostler.toml has git.on_complete = "merge"; this task uses "none"',
    ]


def test_equal_settings_have_no_difference() -> None:
    now = Protection({"test": PYTEST, "merge": HUMAN}, "pr", {"a": "ask"}, task_usd=1.0)
    assert list_differences(now, now) == ()


def test_a_task_of_an_older_version_keeps_the_gates_of_its_plan() -> None:
    """Gates without a phase, and other values, come from the settings at the upgrade."""
    plan = build_plan("trivial")
    live = Protection({"implement": PYTEST, "lint": TRUE}, "merge", task_usd=3.0)
    first = add_planned_gates(live, plan)
    assert first == Protection({"lint": TRUE}, "none", task_usd=3.0)
    assert protection_of_plan(plan) == Protection()
