"""A task run by an agent that uses ACP, through the whole program."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.testing.fake_agent import fake_agent
from world import World


def behave(world: World, **behaviour: Any) -> None:
    """Set the behaviour of the agent; its sessions are kept from one start to the next."""
    sessions = str(world.agents / "sessions")
    path = fake_agent(world.agents, "acp", ledger=str(world.ledger), sessions=sessions, **behaviour)
    world.environ |= {"OSTLER_EXECUTORS__ACP__COMMAND": str(path), "OSTLER_RUN__EXECUTOR": "acp"}


@pytest.mark.parametrize("named_by", ["OSTLER_EXECUTORS__ACP__COMMAND", "OSTLER_ACP_PATH"])
def test_task_is_done(named_by: str, world: World) -> None:
    """The permission is given, the file is edited, the work is committed, the session is the agent's own."""
    behave(world)
    world.environ[named_by] = world.environ.pop("OSTLER_EXECUTORS__ACP__COMMAND")
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("completed", None)
    assert "fake-agent.txt" in world.git("show", "--stat", shown["branch"])
    (attempt,) = shown["attempts"]
    assert (attempt["executor"], attempt["status"]) == ("acp", "succeeded")
    (session,) = (world.agents / "sessions").glob("*.jsonl")
    assert attempt["session_id"] == session.stem


def test_crashed_agent_goes_on_in_its_session(world: World) -> None:
    """The second attempt resumes the session that the agent named in the first."""
    behave(world, plan=["crash", "ok"])
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert shown["status"] == "completed"
    first, second = (attempt["session_id"] for attempt in shown["attempts"])
    assert first == second
    assert [path.stem for path in (world.agents / "sessions").glob("*.jsonl")] == [first]


def test_agent_without_sessions_begins_again_with_a_summary(world: World) -> None:
    """An agent without a way to resume still completes its task: a new session gets a summary of the work."""
    behave(world, plan=["crash", "ok"], handshake="forgetful")
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert shown["status"] == "completed"
    replaced = [event for event in world.events(task) if event["type"] == "session_replaced"]
    second = shown["attempts"][1]["session_id"]
    assert [(event["session_id"], event["resumed"]) for event in replaced] == [(second, False)]
    reported = (world.agents / "sessions" / f"{second}.jsonl").read_text()
    assert "The previous session was lost" in reported and "`fake-agent.txt` (+1 -0)" in reported
