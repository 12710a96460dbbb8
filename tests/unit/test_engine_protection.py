"""The settings that a step of an open task uses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ostler.config.settings import BudgetSettings, ExecutorSettings, GitSettings, SandboxSettings, Settings
from ostler.engine.core.evolve import begin
from ostler.engine.steps.gates.choice import choose_gate, choose_merge_gate, read_protection
from ostler.engine.steps.protection import apply_protection
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.files.protected import is_guarded
from ostler.model.event import Record, TaskCreated
from ostler.model.ids import TaskId
from ostler.model.plan import NO_GATE, Gate, build_plan
from ostler.model.task import Task

ID = TaskId("greet-ab12")
STRICT = Settings(
    executors={"a": ExecutorSettings(permissions="ask")},
    budget=BudgetSettings(task_usd=1.0),
    sandbox=SandboxSettings(env_allow=("TOKEN",)),
)
LOOSE = Settings(
    executors={"a": ExecutorSettings(permissions="skip"), "b": ExecutorSettings(permissions="skip")},
    budget=BudgetSettings(task_usd=9.0, day_usd=50.0),
    sandbox=SandboxSettings(env_allow=("TOKEN", "KEY"), allow_unsandboxed_skip=True),
    git=GitSettings(on_complete="merge", allow_secrets=True),
)


def used(created_with: Settings, now: Settings) -> Settings:
    """The settings of a step, for a task that was created with others."""
    task, plan = Task("Greet", id=ID), build_plan("trivial")
    created = TaskCreated(task, plan, 2, "s", read_protection(task, plan, created_with))
    empty: dict[str, Any] = dict.fromkeys(StepServices.__struct_fields__)
    services = StepServices(
        **(empty | {"settings": created_with, "read_settings": lambda: now, "explicit_settings": frozenset()})
    )
    return apply_protection(TaskContext(task, begin(Record(ID, 1, 1.0, created)), 0), services).settings


def test_looser_settings_do_not_reach_an_open_task() -> None:
    """Permissions, sandbox, budgets and publishing stay as they were; a new limit applies."""
    found = used(STRICT, LOOSE)
    assert {name: one.permissions for name, one in found.executors.items()} == {
        "a": "ask",
        "b": "auto",
    }
    assert (found.budget.task_usd, found.budget.day_usd) == (1.0, 50.0)
    assert (found.sandbox.env_allow, found.sandbox.allow_unsandboxed_skip) == (("TOKEN",), False)
    assert (found.git.on_complete, found.git.allow_secrets) == ("none", False)


def test_stricter_settings_apply_at_once() -> None:
    found = used(LOOSE, STRICT)
    assert found.executors["a"].permissions == "ask"
    assert (found.budget.task_usd, found.budget.day_usd) == (1.0, 50.0)
    assert (found.sandbox.env_allow, found.git.on_complete) == (("TOKEN",), "none")


def settings(**gates: object) -> Settings:
    return msgspec.convert({"gates": gates}, Settings)


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ({"commands": {"test": "x"}}, Gate("command", command="x")),
        ({"commands": {"test": "x"}, "weights": {"small": "auto"}}, Gate("command", command="x")),
        ({"commands": {"test": "x"}, "weights": {"small": "skip"}}, Gate("command", command="x")),
        ({"commands": {"test": "x"}, "phases": {"test": "auto"}}, Gate("command", command="x")),
        ({"commands": {"test": "x"}, "phases": {"test": "human"}}, Gate("human", command="x")),
        ({"commands": {"test": "x"}, "phases": {"test": "ai"}}, Gate("ai", command="x")),
        ({"commands": {"test": "x"}, "phases": {"test": "skip"}}, NO_GATE),
        ({"phases": {"test": "human"}, "weights": {"small": "auto"}}, Gate("auto")),
        ({"phases": {"test": "skip"}, "weights": {"small": "human"}}, Gate("human")),
        ({"phases": {"test": "skip"}, "weights": {"small": "auto"}}, NO_GATE),
        ({"phases": {"test": "skip"}, "weights": {"small": "command"}}, NO_GATE),
    ],
)
def test_a_command_is_switched_off_by_its_own_name_only(gates: dict[str, object], expected: Gate) -> None:
    """T28, as a table."""
    assert choose_gate("test", "small", settings(**gates)) == expected


def test_the_command_before_publishing_is_not_switched_off_by_auto() -> None:
    """The same rule as for phases."""
    found = choose_merge_gate(settings(commands={"merge": "x"}, phases={"merge": "auto"}))
    assert found == Gate("command", command="x")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("ostler.toml", True),
        ("packages/a/ostler.toml", True),
        (".github/workflows/ci.yml", True),
        (".GitHub/workflows/ci.yml", True),
        (".claude", True),  # a link instead of the directory
        ("Jenkinsfile", True),
        (".gitlab-ci.yml", True),
        (".gitlab-ci.yaml", True),
        ("opencode.jsonc", True),
        ("azure-pipelines.yaml", True),
        (".teamcity/settings.kts", True),
        ("ci/cloudbuild.yaml", True),
        (".vscode/mcp.json", True),
        (".vscode/settings.json", True),  # editors execute tasks and interpreters that it names
        ("packages/a/.envrc", True),
        (".husky/pre-commit", True),
        (".env", True),
        (".env.example", False),
        ("mcp.json", False),
        ("CLAUDE.md", False),  # instructions are reviewed in the diff
        ("src/github/a.py", False),
        ("docs/ostler.toml.md", False),
    ],
)
def test_files_that_need_a_person(path: str, expected: bool) -> None:
    """Settings, agent configuration and CI, at any depth and in any case."""
    assert is_guarded(path) == expected
