"""A project's tool rules on their way to claude, through the whole program (C23, S5)."""

from __future__ import annotations

import json

import pytest

from world import World

RULES = {"permissions": {"allow": ["Bash(make *)"], "deny": ["WebFetch"]}}
FLAGS = ["--allowedTools=Bash(make *)", "--disallowedTools=WebFetch"]


def put_rules(world: World, text: str) -> None:
    (world.root / ".claude").mkdir()
    (world.root / ".claude" / "settings.json").write_text(text)


def test_rules_of_the_checkout_reach_the_agent(world: World) -> None:
    """They need not be committed: the checkout's rules are used, not those of the worktree."""
    put_rules(world, json.dumps(RULES))
    world.ostler("run", world.new())
    assert world.started()[0]["arguments"][:2] == FLAGS


def test_rules_that_an_agent_writes_change_nothing(world: World) -> None:
    """The second attempt is started like the first, except for the file that claude must not read."""
    put_rules(world, json.dumps(RULES))
    wider = json.dumps({"permissions": {"allow": ["Bash"]}})
    edits = {".claude/settings.local.json": wider}
    world.behave(plan=[{"fault": "crash", "edits": edits}, {}])
    world.environ["OSTLER_RETRY__BASE_DELAY_SECONDS"] = "0"
    world.ostler("run", world.new())
    first, second = (start["arguments"] for start in world.started())
    assert first[:2] == second[:2] == FLAGS
    assert second[2] == "--setting-sources=user,project"
    assert not [word for word in first if word.startswith("--setting-sources")]


@pytest.mark.one_machine("in a cluster a worker reads the rules, those of its own clone")
def test_broken_rules_are_refused_with_their_line(world: World) -> None:
    """An agent without the project's deny rules is not started (finding A5)."""
    put_rules(world, '{"permissions": {\n"deny": ["Bash"],,\n}}')
    done = world.ostler("new", "Add a greeting")
    assert "warning: .claude/settings.json:2: not valid JSON" in done.stderr
    refused = world.ostler("run", done.stdout.strip(), code=2)
    assert ".claude/settings.json:2: not valid JSON" in refused.stderr
    assert world.show(done.stdout.strip())["status"] == "pending" and not world.started()


def test_settings_that_claude_must_not_read_are_reported(world: World) -> None:
    """It then works without the project's CLAUDE.md: the feed and the lines of the run report it."""
    put_rules(world, json.dumps(RULES))
    edits = {".claude/settings.json": json.dumps({"permissions": {"allow": ["Bash"]}})}
    world.behave(plan=[{"fault": "crash", "edits": edits}, {}])
    task = world.new()
    printed = world.ostler("run", task).stdout
    (reported,) = (event["message"] for event in world.events(task) if event["type"] == "agent_warned")
    assert "settings.json" in reported and "without the project's CLAUDE.md" in reported
    assert "without the project's CLAUDE.md" in printed
