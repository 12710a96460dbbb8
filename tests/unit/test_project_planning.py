"""The plan of a task, from its weight, its fields and the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.load import load_settings
from ostler.errors import UsageError
from ostler.model.plan import FULL, NO_GATE, STANDARD, TRIVIAL, Gate, Plan
from ostler.model.task import Task, Weight
from ostler.project.tasks.planning import plan_task


def planned(root: Path, toml: str = "", task: Task | None = None) -> Plan:
    (root / "ostler.toml").write_text(toml)
    return plan_task(task or Task("x"), load_settings(root, {}), root)


def gates(plan: Plan) -> dict[str, str]:
    return {phase.id: phase.gate.type for phase in plan.phases} | {"merge": plan.merge_gate.type}


@pytest.mark.parametrize(
    ("weight", "phases", "strategy", "iterations"),
    [
        ("trivial", "implement", TRIVIAL, 5),
        ("small", "implement test", STANDARD, 10),
        ("medium", "implement test", STANDARD, 20),
        ("large", "spec implement test validate", FULL, 30),
        ("greenfield", "research spec implement test validate", FULL, 50),
    ],
)
def test_plans_by_weight(
    tmp_path: Path, weight: Weight, phases: str, strategy: object, iterations: int
) -> None:
    """C93: the phases, their sessions and iterations."""
    plan = planned(tmp_path, task=Task("x", weight=weight))
    assert [phase.id for phase in plan.phases] == phases.split()
    assert {phase.strategy for phase in plan.phases} == {strategy}
    assert {phase.max_iterations for phase in plan.phases} == {iterations}
    assert (plan.merge_gate, plan.publish, plan.max_phase_retries) == (NO_GATE, "none", 2)


def test_the_task_goes_before_the_settings(tmp_path: Path) -> None:
    """The task's phases, else those of the settings for its weight."""
    toml = '[phases.plans]\nsmall = ["implement", "docs"]\n'
    assert [p.id for p in planned(tmp_path, toml).phases] == ["implement", "docs"]
    own = Task("x", phases=("implement", "review"))
    assert [p.id for p in planned(tmp_path, toml, own).phases] == ["implement", "review"]


@pytest.mark.parametrize(
    ("toml", "expected", "retries"),
    [
        ("", {"implement": "auto", "test": "auto", "merge": "skip"}, 2),
        ('[phases]\nprofile = "fast"\n', {"implement": "auto", "test": "auto", "merge": "skip"}, 1),
        ('[phases]\nprofile = "strict"\n', {"implement": "auto", "test": "auto", "merge": "human"}, 3),
        (
            '[phases]\nprofile = "strict"\nmax_phase_retries = 7\n[gates.phases]\nmerge = "skip"\n',
            {"implement": "auto", "test": "auto", "merge": "skip"},
            7,
        ),
        (
            '[gates.commands]\ntest = "pytest"\n[gates.phases]\nimplement = "human"\n',
            {"implement": "human", "test": "command", "merge": "skip"},
            2,
        ),
        (
            '[gates]\ndefault = "ai"\n[gates.weights]\nsmall = "human"\n[gates.phases]\ntest = "auto"\n',
            {"implement": "human", "test": "human", "merge": "skip"},
            2,
        ),
    ],
)
def test_gates_weight_over_phase_over_default(
    tmp_path: Path, toml: str, expected: dict[str, str], retries: int
) -> None:
    """C107, C108: explicit settings have precedence over each profile."""
    plan = planned(tmp_path, toml)
    assert gates(plan) == expected
    assert plan.max_phase_retries == retries


@pytest.mark.parametrize("key", ["default", "weights.small"])
def test_a_command_gate_needs_a_command(tmp_path: Path, key: str) -> None:
    """Before anything runs: the task would stop after its work is done."""
    toml = f'[gates]\n{key} = "command"\n[gates.commands]\nimplement = "true"\n'
    with pytest.raises(UsageError, match="gate of test is command, but it has no command") as found:
        planned(tmp_path, toml)
    assert found.value.hint == f"set gates.commands.test, or change gates.{key}"


def test_options_of_a_phase(tmp_path: Path) -> None:
    """C94: iterations, checkpoint, role; a phase is after its dependencies."""
    toml = (
        '[phases.plans]\nsmall = ["test", "implement", "docs"]\n'
        '[phases.options.test]\ndepends_on = ["implement"]\nmax_iterations = 3\n'
        '[phases.options.docs]\ncheckpoint = false\nrole = "reviewer"\n'
    )
    implement, test, docs = sorted(planned(tmp_path, toml).phases, key=lambda phase: "itd".index(phase.id[0]))
    assert [phase.id for phase in planned(tmp_path, toml).phases] == ["implement", "test", "docs"]
    assert (test.max_iterations, test.depends_on, implement.max_iterations) == (3, ("implement",), 10)
    assert (docs.checkpoint, docs.role) == (False, "reviewer")


@pytest.mark.parametrize(
    ("toml", "reported"),
    [
        ('[phases.plans]\nsmall = ["implement", "implement"]\n', "listed twice"),
        (
            '[phases.options.test]\ndepends_on = ["implement"]\n'
            '[phases.options.implement]\ndepends_on = ["test"]\n',
            "dependency cycle",
        ),
        ('[phases.plans]\nsmall = ["../x"]\n', "invalid phase name"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(tmp_path: Path, toml: str, reported: str) -> None:
    """One error, before the task is added."""
    with pytest.raises(UsageError, match=reported):
        planned(tmp_path, toml)


def test_a_command_gate_keeps_its_command(tmp_path: Path) -> None:
    """A gate of another type has no command."""
    plan = planned(
        tmp_path, '[gates.commands]\ntest = "pytest -q"\n[gates.criteria]\nimplement = ["has_output"]\n'
    )
    assert [phase.gate for phase in plan.phases] == [
        Gate("auto", ("has_output",)),
        Gate("command", (), "pytest -q"),
    ]
