"""Changes of settings, agent configuration and CI: only a person lets them be merged or published."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from world import World

TIMEOUT = '[gates]\nhuman_timeout_seconds = 0.01\nhuman_timeout_action = "approve"\n'
CI = "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/ci.yml"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.git("branch", "release")
    yield made
    made.close()


def write(world: World, publish: str, text: str = "") -> None:
    settings = f'[git]\non_complete = "{publish}"\ntarget = "release"\n{text}'
    (world.root / "ostler.toml").write_text(settings)


def merge_gate(world: World, task: str) -> dict[str, Any]:
    return next(one["gate"] for one in world.show(task)["gates"] if one["name"] == "merge")


def run_after_timeout(world: World) -> str:
    time.sleep(0.05)
    return world.ostler("run", "--all", code=None).stderr


@pytest.mark.parametrize(
    "gate", [pytest.param("", marks=pytest.mark.full, id="no-gate"), '[gates.phases]\nmerge = "human"\n']
)
def test_a_timeout_does_not_approve_guarded_files(world: World, gate: str) -> None:
    """The task waits after each timeout, and a person's approval merges it."""
    world.behave(script=CI)
    write(world, "merge", TIMEOUT + gate)
    task, before = world.new(), world.git("rev-parse", "release")
    world.ostler("run", task, code=4)
    run_after_timeout(world)
    run_after_timeout(world)
    assert world.show(task)["status"] == "needs_review"
    assert world.git("rev-parse", "release") == before
    assert merge_gate(world, task)["guarded"] == [".github/workflows/ci.yml"]
    write(world, "merge")
    accepted = world.ostler("config", "accept")
    assert "removed while it waits" not in accepted.stdout
    assert "waits for you in any case: it changes .github/workflows/ci.yml." in accepted.stderr
    assert world.show(task)["status"] == "needs_review"
    world.ostler("approve", task)
    world.ostler("run", task)
    assert world.git("rev-parse", "release").strip() == world.show(task)["commit"]


def test_a_guarded_file_behind_a_symbolic_link_asks_a_person(world: World) -> None:
    """The path of the file itself is an ordinary one."""
    (world.root / "tooling").mkdir()
    (world.root / "tooling/settings.json").write_text("{}")
    (world.root / ".claude").symlink_to("tooling")
    world.git("add", ".claude", "tooling")
    world.git("commit", "-q", "-m", "link")
    world.git("branch", "-f", "release", "HEAD")
    world.behave(script="echo hooks > .claude/settings.json")
    write(world, "merge")
    task = world.new()
    world.ostler("run", task, code=4)
    assert merge_gate(world, task)["guarded"] == ["tooling/settings.json"]


@pytest.mark.one_machine("the test patches the process that runs the task")
def test_a_guarded_change_that_a_timeout_approved_asks_a_person(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a journal of a version that did not record guarded files: the gate asks again."""
    monkeypatch.setattr("ostler.project.running.review_timeouts._has_guarded_files", lambda state: False)
    world.behave(script=CI)
    write(world, "merge", TIMEOUT)
    task, before = world.new(), world.git("rev-parse", "release")
    world.ostler("run", task, code=4)
    run_after_timeout(world)
    assert "nobody decided within" in str(world.events(task))
    assert world.show(task)["status"] == "needs_review"
    assert world.git("rev-parse", "release") == before


def test_a_timeout_approves_other_files_under_its_own_name(world: World) -> None:
    """Positive control: the same settings merge a change of other files, and no person is named."""
    write(world, "merge", TIMEOUT + '[gates.phases]\nmerge = "human"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    run_after_timeout(world)
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert merge_gate(world, task)["by"] == "a timeout"
    assert world.git("rev-parse", "release").strip() == shown["commit"]
    assert "by a timeout" in world.ostler("show", task).stdout


def test_a_timeout_at_a_phase_does_not_accept_work_without_changes(world: World) -> None:
    """NO_CHANGES: an approval that no person gave does not replace the review."""
    world.behave(edits={})
    write(world, "none", TIMEOUT + '[gates.phases]\nimplement = "human"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    for _ in range(3):
        run_after_timeout(world)
    assert world.show(task)["status"] == "needs_review"


def test_a_successor_does_not_carry_guarded_files_to_the_target(world: World) -> None:
    """The first task is completed without publishing; the second one would merge its commit too."""
    world.behave(script=CI)
    write(world, "none")
    first = world.new()
    world.ostler("run", first)
    world.behave(script="echo x > other.txt")
    write(world, "merge")
    second, before = world.new("Use it", "--after", first), world.git("rev-parse", "release")
    world.ostler("run", second, code=4)
    assert ".github/workflows/ci.yml" in world.show(second)["message"]
    assert world.git("rev-parse", "release") == before


@pytest.mark.full
def test_a_person_approves_guarded_files_once_for_all_successors(world: World) -> None:
    """The approval of the first task, which is not published, covers the second one."""
    world.behave(script=CI)
    write(world, "none", '[gates.phases]\nmerge = "human"\n')
    first = world.new()
    world.ostler("run", first, code=4)
    world.ostler("approve", first)
    world.ostler("run", first)
    world.behave(script="echo x > other.txt")
    write(world, "merge")
    second = world.new("Use it", "--after", first)
    world.ostler("run", second)
    assert world.git("rev-parse", "release").strip() == world.show(second)["commit"]


def test_executed_configuration_is_flagged(world: World) -> None:
    """By `show`, ignored files included, and by `diff`."""
    world.environ["OSTLER_SANDBOX__TIER"] = "limits"  # with `supervised`, files of agents are not compared
    (world.root / ".gitignore").write_text(".claude/settings.local.json\n")
    world.git("add", ".gitignore")
    world.git("commit", "-q", "-m", "ignore")
    world.git("branch", "-f", "release", "HEAD")
    world.behave(
        script="mkdir -p .vscode .claude; echo 1 > .vscode/tasks.json; echo 2 > .claude/settings.local.json"
    )
    write(world, "none")
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert "CONFIGURATION_CHANGED" in shown["warnings"]
    assert {one["text"] for one in shown["warning_details"]} == {
        "created .vscode/tasks.json",
        "created .claude/settings.local.json",
    }
    diff = world.ostler("diff", task)
    assert f"{task} changes files that agents, editors or CI execute: .vscode/tasks.json" in diff.stderr
