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
    world.ostler("agent", "resume", session[:8], "And that?")
    starts = world.started()
    assert [start["session"] for start in starts] == [session, session]
    assert [start["resumed"] for start in starts] == [False, True]
    assert (world.root / "fake-agent.txt").exists(), "it works in this directory"
    (listed,) = world.json("agent", "list")["sessions"]
    assert (listed["session_id"], listed["turns"], listed["role"]) == (session, 2, "researcher")


def test_resuming_a_task_names_its_command(world: World) -> None:
    """A task is not a session: ostler resume answers it."""
    task = world.new("Fix it")
    refused = world.ostler("agent", "resume", task[:5], "Go on", code=2).stderr
    assert refused == f"ostler: {task} is a task, not a session\n        ostler resume {task} -m TEXT\n"


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
        (["agent", "spawn", "-p", "x", "--executor", "nobody"], 2, 'unknown executor "nobody"'),
        (["agent", "spawn"], 2, "pass the prompt with -p"),
        (["agent", "spawn", "-p", " "], 2, "the prompt is empty"),
        (["agent", "resume", "0000", "-p", "x"], 2, "no session 0000"),
        (["agent", "resume", "../x", "-p", "x"], 2, "no session ../x"),
        (["agent", "resume", "0000", "x", "-p", "x"], 2, "pass the prompt either as an argument or with -p"),
    ],
)
def test_bad_requests_are_one_sentence(world: World, args: list[str], code: int, expected: str) -> None:
    """Each names the mistake."""
    world.ostler("init")
    assert world.ostler(*args, code=code).stderr.startswith(f"ostler: {expected}")


def test_an_agent_that_fails_is_reported(world: World, tmp_path: Path) -> None:
    """The exit code, the sentence of the failure and its fix; the session can be tried again."""
    world.behave(fault="api_error", error=401)
    printed = world.ostler("agent", "spawn", "-p", "Go", code=4).stderr
    assert "AUTH_FAILED" in printed
    assert "Next: log in to the agent, or correct its key; then   ostler agent resume " in printed


@pytest.mark.full
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


@pytest.mark.full
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


def test_a_lost_session_is_not_replaced(world: World, tmp_path: Path) -> None:
    """The prompt is not sent to a session without the history: SESSION_NOT_FOUND, exit 1, and what to do."""
    sessions = tmp_path / "sessions"
    world.behave(sessions=str(sessions))
    session = world.ostler("agent", "spawn", "-p", "Remember the word heron.").stderr.split()[1]
    (sessions / f"{session}.jsonl").unlink()
    lost = world.ostler("agent", "resume", session, "-p", "Which word?", code=1)
    assert "The word was" not in lost.stdout
    assert "SESSION_NOT_FOUND" in lost.stderr and "Next: ostler agent spawn" in lost.stderr
    printed = world.ostler("agent", "resume", session, "-p", "Which word?", "--json", code=1).stdout
    assert json.loads(printed.splitlines()[-1])["code"] == "SESSION_NOT_FOUND"
    assert "SESSION_NOT_FOUND" in world.ostler("log", session).stdout


def test_a_session_has_a_readable_log(world: World) -> None:
    """Every turn is appended to one file, with prompt, tools and end; a unique prefix of the id finds it."""
    world.behave(text="Hello there.")
    session = world.ostler("agent", "spawn", "-p", "What is this?\nSay it.").stderr.split()[1]
    world.ostler("agent", "resume", session, "-p", "And that?")
    log = world.ostler("log", session[:8]).stdout
    assert [line[:9] for line in log.splitlines() if line.startswith("──")] == ["── turn 1", "── turn 2"]
    assert "\n> What is this?\n> Say it.\n" in log and "\n→ Edit fake-agent.txt\n" in log
    assert log.count("Hello there.") == 2 and log.count("✓ succeeded") == 2
    (listed,) = world.json("agent", "sessions")["sessions"]
    assert Path(listed["log"]).read_text() == log
    assert (listed["session_id"], listed["turns"], listed["prompt"]) == (session, 2, "What is this?")
    assert world.json("log", session) == {"schema": "ostler.log/1", "session_id": session, "text": log}
    assert session in world.ostler("agent", "sessions").stdout


def test_the_log_of_a_running_turn_is_followed(world: World) -> None:
    """-f prints what the agent writes until its turn ends, whatever id the agent chose."""
    path = fake_agent(world.agents, "codex", ledger=str(world.ledger), delay_seconds=1, text="The end.")
    world.environ |= {"OSTLER_CODEX_PATH": str(path), "OSTLER_RUN__EXECUTOR": "codex"}
    run = world.start("agent", "spawn", "-p", "Go")
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    # codex chooses the id of its session, which is known a moment later.
    wait_until(lambda: world.json("agent", "sessions")["sessions"], 30, "the agent has no session")
    sessions = world.json("agent", "sessions")["sessions"]
    followed = world.program("log", "-f", sessions[0]["session_id"]).stdout
    assert "> Go" in followed and "The end." in followed and "✓ succeeded" in followed
    assert run.wait(30) == 0
    (listed,) = world.json("agent", "sessions")["sessions"]
    own = world.started()[0]["session"]
    assert Path(listed["log"]).name == f"{own}.log" and Path(listed["raw"]).name == f"{own}.jsonl"


def test_the_log_truncates_long_texts_and_hides_secrets(world: World) -> None:
    """A prompt has 500 characters in the log; a key is in none of the files."""
    key = "sk-ant-api03-" + "Ab1" * 31 + "AA"
    session = world.ostler("agent", "spawn", "-p", f"{key} {'x' * 5000}").stderr.split()[1]
    (listed,) = world.json("agent", "sessions")["sessions"]
    log = world.ostler("log", session).stdout
    assert "more characters)" in log and "x" * 501 not in log
    assert key[:40] not in log + json.dumps(listed)


@pytest.mark.full
@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["log", "{session}", "--full"], "--full is for tasks"),
        (["log", "{session}", "--attempt", "1"], "--attempt is for tasks"),
        (["log", "nosuch"], "no task nosuch"),
        (["log", ""], "no task"),
        (["log", "../{session}"], "no task ../"),
    ],
)
def test_a_log_that_does_not_exist_is_one_sentence(world: World, args: list[str], expected: str) -> None:
    """Exit 2 and the mistake."""
    session = world.ostler("agent", "spawn", "-p", "Go").stderr.split()[1]
    named = [arg.replace("{session}", session) for arg in args]
    assert expected in world.ostler(*named, code=2).stderr


def test_a_damaged_session_file_does_not_hide_the_others(world: World) -> None:
    """It is named and left out."""
    session = world.ostler("agent", "spawn", "-p", "Go").stderr.split()[1]
    (journal_path(world.root).parent / "sessions" / "broken.json").write_text("{")
    listed = world.ostler("agent", "sessions")
    assert session in listed.stdout and "broken.json is left out: it is damaged" in listed.stderr
    world.ostler("agent", "resume", session, "-p", "Go on")


def test_settings_that_an_agent_reads_are_not_a_damaged_session(world: World) -> None:
    """gemini reads a settings file of each call, which is beside the output of the session."""
    path = fake_agent(world.agents, "gemini", ledger=str(world.ledger))
    world.environ |= {"OSTLER_GEMINI_PATH": str(path), "OSTLER_RUN__EXECUTOR": "gemini"}
    world.ostler("agent", "spawn", "-p", "Go")
    assert "damaged" not in world.ostler("agent", "sessions").stderr
