"""Tasks run by the other agents, each in its own output format, through the whole program."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from ostler.testing.fake_agent import fake_agent, read_ledger
from world import World, end, wait_until

AGENTS = ("codex", "copilot", "cursor", "gemini", "opencode", "qwen")
NAME_THEMSELVES = ("codex", "cursor", "opencode")  # their session ids


def behave(world: World, name: str, **behaviour: Any) -> None:
    """Set the behaviour of this agent; its sessions are kept from one start to the next."""
    sessions = str(world.agents / "sessions")
    path = fake_agent(world.agents, name, ledger=str(world.ledger), sessions=sessions, **behaviour)
    world.environ |= {f"OSTLER_{name.upper()}_PATH": str(path), "OSTLER_RUN__EXECUTOR": name}


def attempts(world: World, task: str) -> list[dict[str, Any]]:
    return world.show(task)["attempts"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", AGENTS)
def test_task_is_done_by_each_agent(name: str, world: World) -> None:
    """The file is edited, the work is committed, and the task shows the agent's own session."""
    behave(world, name)
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("completed", None)
    assert "fake-agent.txt" in world.git("show", "--stat", shown["branch"])
    (attempt,) = shown["attempts"]
    assert (attempt["executor"], attempt["status"]) == (name, "succeeded")
    assert attempt["session_id"] == world.started()[0]["session"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", AGENTS)
def test_crashed_agent_goes_on_in_its_session(name: str, world: World) -> None:
    """The second attempt resumes the first, and no token is counted twice."""
    behave(world, name, plan=["crash", "ok"])
    task = world.new()
    world.ostler("run", task)
    first, second = world.started()
    assert (first["resumed"], second["resumed"]) == (False, True)
    assert first["session"] == second["session"]
    assert [attempt["session_id"] for attempt in attempts(world, task)] == [first["session"]] * 2


@pytest.mark.full
@pytest.mark.parametrize("name", ["codex", "qwen"])
def test_running_totals_are_counted_once(name: str, world: World) -> None:
    """An agent that reports the tokens of its session, called twice within one call, used them once."""
    behave(world, name, plan=["a18_after_result", "ok"], status=1)
    task = world.new()
    world.ostler("run", task)
    used = [attempt["usage"]["input_tokens"] for attempt in attempts(world, task)]
    assert used == [10, 10]
    assert world.show(task)["usage"]["input_tokens"] == 20


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NAME_THEMSELVES)
def test_interrupted_agent_is_found_again(name: str, world: World) -> None:
    """Ctrl-C in the middle: the id that the agent chose is kept, and the next run resumes it."""
    behave(world, name, plan=["a1_hangs", "ok"])
    task = world.new()
    running = world.start("run", task)
    wait_until(lambda: len(read_ledger(world.ledger)) > 1, 30, "the agent did not start to work")
    assert end(running, signal.SIGINT) == 130
    world.ostler("run", task)
    first, second = world.started()
    assert second["resumed"] and second["session"] == first["session"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", AGENTS)
def test_refused_key_ends_the_task_with_its_code(name: str, world: World) -> None:
    """A refused key is reported as such and not retried."""
    behave(world, name, fault="api_error", error=401)
    task = world.new()
    world.ostler("run", task, code=4)
    assert (world.show(task)["status"], world.show(task)["code"]) == ("pending", "AUTH_FAILED")
    assert len(world.started()) == 1


@pytest.mark.full
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", AGENTS)
def test_denied_tool_is_in_the_feed(name: str, world: World) -> None:
    """A denied action of an agent is visible, although the call succeeded."""
    behave(world, name, fault="denied")
    task = world.new("Say something", "--weight", "trivial")
    world.ostler("run", task, code=None)
    denied = [event for event in world.events(task) if event["type"] == "tool_used" and event.get("denied")]
    assert denied and "PERMISSION_DENIED" in world.show(task)["warnings"]


def test_doctor_and_init_know_every_agent(tmp_path: Path, world: World) -> None:
    """doctor lists all of them with the command that installs them; init selects an installed one."""
    fake_agent(tmp_path / "bin", "gemini")
    world.environ |= {"OSTLER_CLAUDE_PATH": "", "PATH": f"{tmp_path / 'bin'}:{world.environ['PATH']}"}
    checks = {check["name"]: check for check in world.json("doctor", code=None)["checks"]}
    assert checks["agent gemini"]["ok"] and "0.61.0" in checks["agent gemini"]["detail"]
    for name in ("codex", "copilot", "cursor", "opencode", "qwen"):
        assert checks[f"agent {name}"]["fix"].startswith(("npm install -g ", "curl "))
    assert world.json("init")["executor"] == "gemini"
