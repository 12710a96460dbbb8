"""ostler agent: a session with an agent, without a task."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from journal_file import journal_path
from ostler.testing.fake_agent import fake_agent
from world import INTERRUPT, KILL, World, end, wait_until


def test_the_roles_and_their_agents(world: World) -> None:
    """agent list shows the six roles with the executor of each."""
    listed = world.json("agent", "list", OSTLER_AGENTS__REVIEWER="mine")
    players = {agent["name"]: agent["executor"] for agent in listed["agents"]}
    assert players["implementer"] == "claude" and players["reviewer"] == "mine" and len(players) == 6


def test_a_session_is_begun_and_gone_on_with(world: World) -> None:
    """spawn prints the id and the agent's answer; resume sends only the new message to the same session."""
    world.behave(text="Hello there.")
    done = world.ostler("agent", "spawn", "-a", "researcher", "-p", "What is this?")
    assert "Hello there." in done.stdout
    session = done.stderr.split()[1]
    world.ostler("agent", "resume", session[:8], "-p", "And that?")
    starts = world.started()
    assert [start["session"] for start in starts] == [session, session]
    assert [start["resumed"] for start in starts] == [False, True]
    assert (world.root / "fake-agent.txt").exists(), "it works in this directory"
    (listed,) = world.json("agent", "list")["sessions"]
    assert (listed["session_id"], listed["turns"], listed["role"]) == (session, 2, "researcher")


def test_json_gives_every_event_and_then_the_result(world: World) -> None:
    """NDJSON, the result last."""
    lines = world.ostler("agent", "spawn", "-p", "Go", "--json").stdout.splitlines()
    last = json.loads(lines[-1])
    assert (last["schema"], last["code"]) == ("ostler.call/1", None)
    assert {json.loads(line)["schema"] for line in lines[:-1]} == {"ostler.agent_event/1"}


def test_an_interrupt_leaves_the_session_to_be_resumed(world: World) -> None:
    """Ctrl-C stops the agent, prints how to continue, and exits 130; no process is left."""
    world.behave(plan=[{"fault": "a1_hangs"}, {}])
    run = world.start("agent", "spawn", "-p", "Go")
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    assert end(run, INTERRUPT) == 130
    assert not world.survivors()
    session = world.started()[0]["session"]
    world.ostler("agent", "resume", session, "-p", "Go on")
    assert world.started()[1]["session"] == session


def test_two_processes_cannot_share_a_session(world: World) -> None:
    """The second one is refused: each would lose the other's turn."""
    world.behave(plan=[{}, {"fault": "a1_hangs"}, {}])
    session = world.ostler("agent", "spawn", "-p", "Go").stderr.split()[1]
    run = world.start("agent", "resume", session, "-p", "Go on")
    wait_until(lambda: len(world.started()) == 2, 30, "the agent did not start")
    assert "in use" in world.ostler("agent", "resume", session, "-p", "Me too", code=1).stderr
    assert end(run, INTERRUPT) == 130


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("args", "code", "expected"),
    [
        (["agent", "spawn", "-p", "x", "-a", "poet"], 2, "unknown role: poet"),
        (["agent", "spawn", "-p", "x", "--executor", "nobody"], 2, "unknown executor: nobody"),
        (["agent", "spawn"], 2, "pass the prompt with -p"),
        (["agent", "spawn", "-p", " "], 2, "the prompt is empty"),
        (["agent", "resume", "0000", "-p", "x"], 2, "no session 0000"),
        (["agent", "resume", "../x", "-p", "x"], 2, "no session ../x"),
    ],
)
def test_bad_requests_are_one_sentence(world: World, args: list[str], code: int, expected: str) -> None:
    """Each names the mistake."""
    world.ostler("init")
    assert expected in world.ostler(*args, code=code).stderr


def test_an_agent_that_fails_is_reported(world: World, tmp_path: Path) -> None:
    """The exit code and the sentence of the failure; the session can be tried again."""
    world.behave(fault="api_error", error=401)
    assert "AUTH_FAILED" in world.ostler("agent", "spawn", "-p", "Go", code=4).stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [INTERRUPT, KILL])
@pytest.mark.parametrize("name", ["codex", "opencode"])
def test_an_id_that_the_agent_chose_is_not_lost(world: World, name: str, number: int) -> None:
    """After Ctrl-C or kill -9 in the first turn, Ostler's id and the agent's own id both find the session."""
    path = fake_agent(world.agents, name, ledger=str(world.ledger), plan=["a1_hangs", "ok"])
    world.environ |= {f"OSTLER_{name.upper()}_PATH": str(path), "OSTLER_RUN__EXECUTOR": name}
    run = world.start("agent", "spawn", "-p", "Go")
    sessions = journal_path(world.root).parent / "sessions"
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    own = world.started()[0]["session"]
    wait_until((sessions / f"{own}.json").exists, 30, "the id was not kept")
    in_use = world.ostler("agent", "resume", own, "-p", "Me too", code=1)
    assert "in use" in in_use.stderr
    end(run, number)
    wait_until(lambda: not world.survivors(), 20, "the agent outlived the run")
    ours = (world.root.parent / "err.txt").read_text().split()[1]
    assert ours != own
    world.ostler("agent", "resume", ours, "-p", "Go on")
    world.ostler("agent", "resume", own, "-p", "Go on")
    assert [(start["session"], start["resumed"]) for start in world.started()] == [
        (own, False),
        (own, True),
        (own, True),
    ]
    (listed,) = world.json("agent", "list")["sessions"]
    assert (listed["session_id"], listed["turns"]) == (own, 3)


def test_the_session_of_a_task_is_the_tasks_alone(world: World) -> None:
    """A session in which a task works or has worked cannot be resumed by `ostler agent`."""
    world.behave(fault="a1_hangs")
    task = world.new()
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    session = world.started()[0]["session"]
    assert f"no session {session}" in world.ostler("agent", "resume", session, "-p", "x", code=2).stderr
    assert end(run, INTERRUPT) == 130
    assert f"no session {session}" in world.ostler("agent", "resume", session, "-p", "x", code=2).stderr
    assert len(world.started()) == 1


def test_a_lost_session_is_reported(world: World, tmp_path: Path) -> None:
    """A12: the prompt is not sent to a new session, which would not have the history."""
    sessions = tmp_path / "sessions"
    world.behave(sessions=str(sessions))
    session = world.ostler("agent", "spawn", "-p", "Remember the word heron.").stderr.split()[1]
    (sessions / f"{session}.jsonl").unlink()
    refused = world.ostler("agent", "resume", session, "-p", "Which word?", code=1)
    assert "SESSION_NOT_FOUND" in refused.stderr
    assert "The word was never given" not in refused.stdout
