"""ostler run --dry-run and ostler executors: what would happen, and with which agent."""

from __future__ import annotations

import json

from models_world import row, write_models
from world import World

MISSING = '[executors.missing]\ntype = "command"\ncommand = "not-installed"\n'


def test_a_dry_run_shows_the_attempt_and_starts_nothing(world: World) -> None:
    """Command line, names of variables, directory, branch and the whole prompt; no agent, no new state."""
    task = world.new("Add a greeting", "-d", "Write hello.txt", "--model", "opus")
    plan = world.json("run", task, "--dry-run", ANTHROPIC_API_KEY="s3cret")
    assert (plan["schema"], plan["id"], plan["executor"]) == ("ostler.plan/1", task, "claude")
    assert plan["argv"][0] == world.environ["OSTLER_CLAUDE_PATH"] and "opus" in plan["argv"]
    assert "ANTHROPIC_API_KEY" in plan["environment"] and "s3cret" not in json.dumps(plan)
    assert "You are the implementer" in plan["prompt"] and "Write hello.txt" in plan["prompt"]
    assert world.started() == [] and world.show(task)["status"] == "pending"
    assert len(world.events()) == 1


def test_a_dry_run_shows_the_prompt_that_a_run_sends(world: World) -> None:
    """With the format of the answer and the additions of plugins, which the command line also has."""
    plugins = world.root / ".agents" / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "flight.py").write_text("class Flight:\n    capabilities = 'You can fly.'\n")
    (world.root / "ostler.toml").write_text('[plugins]\nload = ["flight:Flight"]\n')
    task = world.new("Sell hay", "-w", "trivial")
    plan = world.json("run", task, "--dry-run")
    world.ostler("run", task)
    sent = (world.root / f".ostler/tasks/{task}/prompts/implement-001.md").read_text()
    assert plan["prompt"] == sent and "You can fly." in sent
    assert '"enum":["complete","blocked","continue"]' in plan["argv"][plan["argv"].index("--json-schema") + 1]
    assert {"OSTLER_STATE", "OSTLER_ATTEMPT"} <= {*plan["environment"]}


def test_a_dry_run_shows_the_prompt_of_the_phase(world: World) -> None:
    """The template and role of the next phase, not always those of implement."""
    (world.root / "ostler.toml").write_text('[phases.prompts]\nspec = "Specify {{TASK_TITLE}} first."\n')
    task = world.new("Sell hay", "--phases", "spec,implement")
    assert "Specify Sell hay first." in world.json("run", task, "--dry-run")["prompt"]


def test_a_dry_run_of_a_document_shows_its_skill(world: World) -> None:
    """Skill, context and the inputs that exist."""
    skill = world.root / ".agents" / "skills" / "copy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: copy\ndescription: writes\n---\nWrite like a poet.\n")
    (world.root / "facts.md").write_text("Hay is dry.")
    (world.root / "gone.md").write_text("x")
    task = world.new("Sell hay", "--skill", "copy", "--input", "facts.md", "--input", "gone.md")
    (world.root / "gone.md").unlink()
    prompt = world.json("run", task, "--dry-run", ANTHROPIC_API_KEY="s3cret")["prompt"]
    assert "Write like a poet." in prompt and "Hay is dry." in prompt
    assert "You are the implementer" not in prompt


def test_a_dry_run_of_a_prompt_writes_no_task(world: World) -> None:
    """run -p --dry-run does not change the list of tasks."""
    assert "Fix the typo" in world.ostler("run", "-p", "Fix the typo", "--dry-run").stdout
    assert world.json("status")["tasks"] == []


def test_a_dry_run_shows_the_model_that_a_run_uses_now(world: World) -> None:
    """Missing models are skipped with the reason, models take turns, and a dry run takes no turn."""
    gone = row("gone", "missing")
    write_models(world, row("one", "claude"), gone, row("two", "claude"), more=MISSING)
    task = world.new("Sell hay", "-w", "trivial", "--retries", "0")
    for _ in range(2):
        plan = world.json("run", task, "--dry-run")
        assert ("model-of-one" in plan["argv"], plan["skipped"], plan["max_calls"]) == (True, {}, 3)
    world.ostler("run", task)
    plan = world.json("run", "-p", "Sell straw", "--dry-run")
    assert "model-of-two" in plan["argv"] and "not-installed was not found" in plan["skipped"]["gone"]
    text = world.ostler("run", "-p", "Sell straw", "--dry-run").stdout
    assert "  skipped   gone: AGENT_NOT_FOUND (not-installed was not found" in text


def test_executors_lists_what_can_be_used_and_what_is_missing(world: World) -> None:
    """Each has its abilities, and for a missing one the command that installs it."""
    listed = {entry["name"]: entry for entry in world.json("executors")["executors"]}
    assert listed["claude"]["problem"] == "" and listed["claude"]["capabilities"]["resumes"]
    assert "npm install" in listed["codex"]["problem"]
    assert listed["scripted"]["problem"] == ""
