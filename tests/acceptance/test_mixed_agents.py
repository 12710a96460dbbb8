"""Tasks that cannot run do not block those that can."""

from __future__ import annotations

import pytest

from world import World

STARTED = pytest.mark.one_machine(
    "in a cluster a worker starts the task, and records what is missing as its failure"
)

SETTINGS = '[executors.gone]\ntype = "command"\ncommand = "/nowhere/agent"\n'


@STARTED
def test_a_missing_agent_holds_up_only_its_own_tasks(world: World) -> None:
    """run --all: the others complete, those of the missing agent stay pending and are named; exit 2."""
    (world.root / "ostler.toml").write_text(SETTINGS)
    waits, runs = world.new("Waits", "--executor", "gone"), world.new("Runs")
    done = world.ostler("run", "--all", code=2)
    assert f"not run: {waits}: /nowhere/agent was not found" in done.stderr
    assert (world.show(waits)["status"], world.show(runs)["status"]) == ("pending", "completed")


@STARTED
def test_a_machine_without_its_agent_fails_no_task(world: World) -> None:
    """If no task can run, none is claimed and the sentence names what to install."""
    (world.root / "ostler.toml").write_text(SETTINGS)
    task = world.new("Waits", "--executor", "gone")
    assert "/nowhere/agent" in world.ostler("run", "--all", code=2).stderr
    assert world.show(task)["status"] == "pending"


@STARTED
def test_a_task_whose_role_is_gone_is_refused_alone(world: World) -> None:
    """The role's file was deleted since: that task stays pending, the next one completes."""
    roles = world.root / ".agents" / "roles"
    roles.mkdir(parents=True)
    (roles / "mine.md").write_text("Be mine.")
    bad, good = world.new("Bad", "--role", "mine"), world.new("Good")
    (roles / "mine.md").unlink()
    done = world.ostler("run", "--all", code=2)
    assert (world.show(bad)["status"], world.show(good)["status"]) == ("pending", "completed")
    assert f'not run: {bad}: unknown role "mine"' in done.stderr


def test_a_branch_prefix_that_git_refuses_is_reported_before_the_run(world: World) -> None:
    """Exit 2, and the task is unchanged."""
    task = world.new()
    (world.root / "ostler.toml").write_text('[git]\nbranch_prefix = "a b..c/"\n')
    assert "ostler.toml:2: git.branch_prefix: " in world.ostler("run", task, code=2).stderr
    assert world.show(task)["status"] == "pending"
