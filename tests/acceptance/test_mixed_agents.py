"""Tasks that cannot run do not stand in the way of those that can."""

from __future__ import annotations

from world import World

SETTINGS = '[executors.gone]\ntype = "command"\ncommand = "/nowhere/agent"\n'


def test_a_missing_agent_holds_up_only_its_own_tasks(world: World) -> None:
    """run --all: the others complete, those of the missing agent stay pending, and it is said."""
    (world.root / "ostler.toml").write_text(SETTINGS)
    waits, runs = world.new("Waits", "--executor", "gone"), world.new("Runs")
    done = world.ostler("run", "--all")
    assert "tasks for gone wait" in done.stderr
    assert (world.show(waits)["status"], world.show(runs)["status"]) == ("pending", "completed")


def test_a_machine_without_its_agent_fails_no_task(world: World) -> None:
    """When no task could run, nothing is claimed and the sentence says what to install."""
    (world.root / "ostler.toml").write_text(SETTINGS)
    task = world.new("Waits", "--executor", "gone")
    assert "/nowhere/agent" in world.ostler("run", "--all", code=1).stderr
    assert world.show(task)["status"] == "pending"


def test_a_task_whose_role_is_gone_fails_alone(world: World) -> None:
    """The role's file was deleted since: that task fails with a sentence, the next one completes."""
    roles = world.root / ".agents" / "roles"
    roles.mkdir(parents=True)
    (roles / "mine.md").write_text("Be mine.")
    bad, good = world.new("Bad", "--role", "mine"), world.new("Good")
    (roles / "mine.md").unlink()
    world.ostler("run", "--all", code=1)
    assert (world.show(bad)["status"], world.show(good)["status"]) == ("failed", "completed")
    assert "unknown role: mine" in world.show(bad)["message"]


def test_a_branch_prefix_that_git_refuses_is_told_before_the_run(world: World) -> None:
    """Exit 2, and the task is as it was."""
    (world.root / "ostler.toml").write_text('[git]\nbranch_prefix = "a b..c/"\n')
    task = world.new()
    world.ostler("run", task, code=2)
    assert world.show(task)["status"] == "pending"
