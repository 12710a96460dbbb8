"""Sessions after a crash of the run: the id is the agent's own, and a lost session gets a summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ostler.testing.fake_agent import fake_agent
from world import KILL, World, end, wait_until

NAME_THEMSELVES = ("codex", "opencode", "cursor", "acp")  # their session ids, when they have started


def behave(world: World, name: str, **behaviour: Any) -> None:
    """Let this agent run the tasks; its sessions are kept from one start to the next."""
    sessions = str(world.agents / "sessions")
    path = fake_agent(world.agents, name, ledger=str(world.ledger), sessions=sessions, **behaviour)
    world.environ |= {f"OSTLER_{name.upper()}_PATH": str(path), "OSTLER_RUN__EXECUTOR": name}


def sessions_of(world: World) -> list[Path]:
    return list((world.agents / "sessions").glob("*.jsonl"))


def kill_in_mid_attempt(world: World, task: str) -> str:
    """Start the task, wait until the journal has the agent's session, kill the run; return the session."""
    run = world.start("run", task)
    wait_until(lambda: sessions_of(world), 60, "the agent did not begin a session")
    (session,) = sessions_of(world)
    wait_until(
        lambda: world.show(task)["attempts"][0]["session_id"] == session.stem, 60, "the id was not written"
    )
    end(run, KILL)
    wait_until(lambda: not world.survivors(), 20, "the agent outlived the run")
    return session.stem


@pytest.mark.sampled(2)
@pytest.mark.parametrize("weight", ["trivial", "small"])
@pytest.mark.parametrize("name", NAME_THEMSELVES)
def test_agents_own_session_is_resumed_after_kill_9(name: str, weight: str, world: World) -> None:
    """The id is in the journal as soon as the agent has named it: the next run continues with it."""
    behave(world, name, plan=["a1_hangs", "ok"])
    task = world.new("Mend the gate", "--weight", weight)
    named = kill_in_mid_attempt(world, task)
    world.ostler("run", "--all")
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert [(a["session_id"], a["resumed"]) for a in shown["attempts"]] == [(named, False), (named, True)]
    assert [path.stem for path in sessions_of(world)] == [named], "another session was begun"
    assert not [event for event in world.events(task) if event["type"] == "session_replaced"]
    if name != "acp":  # which names the session in a message
        first, second = world.started()
        assert named not in first["arguments"] and named in " ".join(second["arguments"])


def prompt_of(session: Path) -> str:
    """Return the first prompt of a session, as the agent received it."""
    return json.loads(session.read_text().splitlines()[0])["prompt"]


def check_loss_was_reported(world: World, task: str) -> str:
    """The feed reports once that the session was begun again; return the prompt that its agent received."""
    shown = world.show(task)
    assert (shown["status"], len(shown["attempts"])) == ("completed", 2)
    replaced = [event for event in world.events(task) if event["type"] == "session_replaced"]
    assert [(event["session_id"], event["resumed"]) for event in replaced] == [
        (shown["attempts"][1]["session_id"], False)
    ]
    prompt = prompt_of(world.agents / "sessions" / f"{replaced[0]['session_id']}.jsonl")
    assert (world.root / ".ostler" / "tasks" / task / "prompts" / "implement-002.md").read_text() == prompt
    return prompt


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["claude", "codex", "opencode"])
def test_lost_session_is_begun_again_with_a_summary(name: str, world: World) -> None:
    """A25: the agent has lost its first iteration: the prompt has the task, its work and its last answer."""
    behave(world, name, plan=["no_mark", "a25_forgets"], edits={"gate.txt": "oiled"})
    task = world.new("Mend the gate", "-d", "It squeaks in the wind.")
    world.ostler("run", task)
    prompt = check_loss_was_reported(world, task)
    for words in ("# Mend the gate", "It squeaks in the wind.", "## The previous session was lost"):
        assert prompt.count(words) == 1
    lines = prompt.splitlines()
    assert "- `gate.txt` (+1 -0)" in lines and "> I changed something." in lines
    assert any(line.startswith(f"- 1 (implement, iteration 1, {name}) succeeded") for line in lines)
    assert "You have not stated whether the work is complete." in prompt


def test_summary_after_kill_9_has_the_page_of_the_attempt(world: World) -> None:
    """For an attempt without an answer, the prompt has its last activity and the interruption."""
    behave(world, "claude", plan=["a1_hangs", "a25_forgets"], events=1)
    task = world.new("Mend the gate")
    page = world.root / ".ostler" / "tasks" / task / "transcripts" / "implement-001.md"
    run = world.start("run", task)
    wait_until(lambda: page.exists() and "step 0" in page.read_text(), 60, "the agent did not work")
    end(run, KILL)
    wait_until(lambda: not world.survivors(), 20, "the agent outlived the run")
    world.ostler("run", "--all")
    prompt = check_loss_was_reported(world, task)
    lines = prompt.splitlines()
    assert "- `fake-agent.txt` (+1 -0)" in lines and "> thinking about step 0" in lines
    assert any(line.startswith("- 1 (implement, iteration 1, claude) interrupted") for line in lines)
    assert "An earlier attempt at this was interrupted" in prompt


def test_kept_session_gets_no_note_about_a_loss(world: World) -> None:
    """The prompt of an existing session stays short, and its stored file is what was sent."""
    behave(world, "claude", plan=["no_mark", "ok"])
    task = world.new("Mend the gate")
    world.ostler("run", task)
    (session,) = sessions_of(world)
    prompt = (world.root / ".ostler" / "tasks" / task / "prompts" / "implement-002.md").read_text()
    assert "lost" not in prompt and "Mend the gate" not in prompt
    assert prompt in [json.loads(line).get("prompt") for line in session.read_text().splitlines()]
