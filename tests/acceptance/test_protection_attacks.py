"""An agent that edits the user's ostler.toml in mid task, and decisions of a person in unusual places."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from world import World

PYTEST = f'[gates.commands]\nimplement = "{sys.executable} -m pytest -q -p no:cacheprovider"\n'
NO_RETRY = "[phases]\nmax_phase_retries = 0\n"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def write(world: World, text: str) -> None:
    (world.root / "ostler.toml").write_text(text)


def let_agent_write_settings(world: World, text: str, **behaviour: object) -> None:
    """Let the agent replace the settings of the user's checkout, by their absolute path."""
    script = f"cat > '{world.root}/ostler.toml' <<'END'\n{text}\nEND\n"
    world.behave(script=script, **behaviour)


def show_gate(world: World, task: str, name: str = "implement") -> dict[str, Any]:
    shown = world.show(task)
    found = {one["id"]: one["gate"] for one in shown["phases"]}
    return {**found, **{one["name"]: one["gate"] for one in shown["gates"]}}[name]


def commit_tests(world: World) -> None:
    (world.root / "test_a.py").write_text("def test_one(): pass\ndef test_two(): pass\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "tests")


@pytest.mark.parametrize("name", ["implement", "merge"])
def test_one_approval_overrules_a_gate_of_a_command_and_a_person(world: World, name: str) -> None:
    """The command fails, the person approves; the same command is not asked again."""
    write(world, f'{NO_RETRY}[gates.phases]\n{name} = "human"\n[gates.commands]\n{name} = "exit 1"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    world.ostler("approve", task, "-m", "known")
    world.ostler("run", task)
    gate = show_gate(world, task, name)
    assert (gate["verdict"], gate["original"], gate["reason"]) == ("overruled", "fail", "known")


@pytest.mark.full
def test_one_approval_accepts_weakened_checks(world: World) -> None:
    """The command passed with other tests; the person who approves that is not asked twice."""
    commit_tests(world)
    write(world, PYTEST)
    world.behave(files={"test_a.py": "def test_one(): pass\n"})
    task = world.new()
    world.ostler("run", task, code=4)
    world.ostler("approve", task, "-m", "one test is enough")
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["warnings"]) == ("completed", ["CHECKS_WEAKENED"])


def test_a_review_that_the_agent_requests_does_not_replace_the_command(world: World) -> None:
    """The person approves what the agent asked; the command of the gate still runs."""
    world.behave(script=f"{sys.executable} -m ostler report --status needs_review --reason look")
    write(world, f'{NO_RETRY}[gates.phases]\nimplement = "human"\n[gates.commands]\nimplement = "exit 1"\n')
    world.environ["OSTLER_SANDBOX__ENV_ALLOW"] = '["PYTHONPATH"]'
    task = world.new()
    world.ostler("run", task, code=4)
    assert world.show(task)["status"] == "needs_review"
    world.ostler("approve", task)
    world.ostler("run", task, code=4)
    assert show_gate(world, task)["verdict"] == "fail"


def test_the_agent_cannot_allow_changes_of_tests(world: World) -> None:
    commit_tests(world)
    write(world, PYTEST)
    loose = "[gates]\nallow_test_changes = true\n" + PYTEST
    let_agent_write_settings(world, loose, files={"test_a.py": "def test_one(): pass\n"})
    task = world.new()
    world.ostler("run", task, code=4)
    assert world.show(task)["status"] == "needs_review"
    assert "gates.allow_test_changes = true; this task uses false" in world.ostler("show", task).stdout


@pytest.mark.parametrize("check", ["", '[gates.checks.lint]\ncommand = "true"\n'])
def test_the_agent_cannot_remove_or_replace_a_quality_check(world: World, check: str) -> None:
    write(world, NO_RETRY + '[gates.checks.lint]\ncommand = "exit 1"\n')
    let_agent_write_settings(world, NO_RETRY + check)
    task = world.new()
    world.ostler("run", task, code=4)
    assert "check lint" in world.show(task)["message"]
    assert "gates.checks.lint" in world.ostler("config", "accept", "--dry-run").stdout


def test_the_agent_cannot_prepare_the_checkout_of_the_gate(world: World) -> None:
    """A setup command could create the file that the gate needs."""
    write(world, NO_RETRY + '[gates.commands]\nimplement = "test -f made"\n')
    let_agent_write_settings(
        world, NO_RETRY + '[gates.commands]\nimplement = "test -f made"\n[workspace]\nsetup = "touch made"\n'
    )
    task = world.new()
    world.ostler("run", task, code=4)
    assert show_gate(world, task)["verdict"] == "fail"
    world.ostler("config", "accept")
    world.ostler("resume", task, "-m", "again")
    world.ostler("run", task)


def test_the_agent_cannot_choose_where_its_work_is_merged(world: World) -> None:
    world.git("branch", "production")
    world.git("branch", "develop")
    before = world.git("rev-parse", "production")
    write(world, '[git]\ntarget = "develop"\non_complete = "merge"\n')
    let_agent_write_settings(world, '[git]\ntarget = "production"\non_complete = "merge"\n')
    task = world.new()
    world.ostler("run", task)
    assert world.git("rev-parse", "production") == before
    assert world.git("rev-parse", "develop").strip() == world.show(task)["commit"]


def test_target_and_workspace_can_be_corrected_before_the_first_run(world: World) -> None:
    """They are recorded when a run claims the task."""
    write(world, '[git]\ntarget = "main"\non_complete = "merge"\n[workspace]\nsetup = "exit 1"\n')
    task = world.new()
    world.git("branch", "develop")
    write(world, '[git]\ntarget = "develop"\non_complete = "merge"\n[workspace]\nsetup = "touch made"\n')
    assert world.show(task)["pending_settings"] == []
    world.ostler("run", task)
    assert world.git("rev-parse", "develop").strip() == world.show(task)["commit"]


def test_the_agent_cannot_let_its_gate_approve_itself(world: World) -> None:
    """An approval after a timeout is a looser setting; it applies after `ostler config accept`."""
    human = '[gates.phases]\nimplement = "human"\n'
    loose = '[gates]\nhuman_timeout_seconds = 0.01\nhuman_timeout_action = "approve"\n' + human
    write(world, human)
    let_agent_write_settings(world, loose)
    task = world.new()
    world.ostler("run", task, code=4)
    time.sleep(0.05)
    world.ostler("run", "--all", code=None)
    assert world.show(task)["status"] == "needs_review"
    world.ostler("config", "accept")
    time.sleep(0.05)
    world.ostler("run", "--all")
    assert world.show(task)["status"] == "completed"


def propose(world: World) -> str:
    """Run a task whose agent proposes another one, and return the id of that one."""
    world.environ["OSTLER_SANDBOX__ENV_ALLOW"] = '["PYTHONPATH"]'
    world.new()
    world.ostler("run", "--all", code=None)
    return next(one["id"] for one in world.json("status")["tasks"] if one["id"].startswith("proposed"))


PROPOSE = f"{sys.executable} -m ostler new 'Proposed work' >&2"


@pytest.mark.parametrize(
    "settings",
    ["", '[gates]\nhuman_timeout_seconds = 0.01\nhuman_timeout_action = "approve"\n'],
    ids=["accept", "timeout"],
)
@pytest.mark.sampled(1)
def test_only_an_approval_starts_a_proposal(world: World, settings: str) -> None:
    """Neither accepted settings nor the timeout of a human gate approve it."""
    world.behave(script=PROPOSE)
    write(world, settings + '[gates.commands]\nimplement = "true"\n')
    task = propose(world)
    write(world, settings)
    time.sleep(0.05)
    world.ostler("config", "accept")
    world.ostler("run", "--all", code=None)
    assert world.show(task)["status"] == "needs_review"


def test_the_agent_cannot_accept_its_own_proposals(world: World) -> None:
    """It sets run.accept_proposals; its task was created without it."""
    world.behave(
        script=f"printf '[run]\\naccept_proposals = true\\n' > '{world.root}/ostler.toml'\n{PROPOSE}"
    )
    assert world.show(propose(world))["status"] == "needs_review"


def test_a_check_of_a_missing_phase_runs_after_the_last_one(world: World) -> None:
    """T2 for quality checks: the task has no test phase."""
    write(world, NO_RETRY + '[gates.checks.lint]\ncommand = "exit 1"\nphase = "test"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    assert "check lint" in world.show(task)["message"]


def test_a_check_sees_the_final_commit(world: World) -> None:
    """A later phase breaks what the check of an earlier phase passed."""
    check = '[gates.checks.lint]\ncommand = "test ! -e broken.txt"\n'
    write(world, NO_RETRY + check)
    world.behave(plan=[{}, {"files": {"broken.txt": "x"}}])
    task = world.new("Add a greeting", "--phases", "implement,test")
    world.ostler("run", task, code=4)
    assert "check lint" in world.show(task)["message"]


def test_a_check_that_is_added_after_its_phase_runs_on_the_final_commit(world: World) -> None:
    """No file changes after its phase passed; an approval is not asked for twice."""
    check = '[gates.checks.lint]\ncommand = "exit 1"\n'
    write(world, NO_RETRY)
    toml = world.root / "ostler.toml"
    add = f"cat > '{toml}' <<'END'\n{NO_RETRY}{check}\nEND\n"
    world.behave(plan=[{}, {"edits": {}, "script": add}])
    task = world.new("Add a greeting", "--phases", "implement,test")
    world.ostler("run", task, code=4)
    assert world.show(task)["message"] == "check lint: `exit 1` exited with 1"
    assert show_gate(world, task)["checks"] == ["lint (block): exit 1"]
    world.ostler("approve", task)
    world.ostler("run", task)
    assert show_gate(world, task)["verdict"] == "overruled"


def test_a_check_of_a_missing_phase_runs_although_the_last_phase_was_skipped(world: World) -> None:
    """It runs after the last phase that is not skipped."""
    write(world, NO_RETRY + '[gates.checks.lint]\ncommand = "exit 1"\nphase = "docs"\n')
    task = world.new("Add a greeting", "--phases", "implement,test")
    world.ostler("skip", task, "--phase", "test", "--reason", "none")
    world.ostler("run", task, code=4)
    assert "check lint" in world.show(task)["message"]
