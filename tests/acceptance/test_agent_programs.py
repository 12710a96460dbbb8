"""Agents other than claude, set up in ostler.toml and run through the whole program."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_oracle import check_ended
from world import World

COMMAND = """\
[run]
executor = "mine"
[executors.mine]
type = "command"
command = "{command}"
args = ["--prompt-file", "{{prompt_file}}"]
"""
SCRIPTED = '[run]\nexecutor = "scripted"\n'
DONE = "<phase_complete>true</phase_complete>"


def settings(world: World, text: str) -> None:
    (world.root / "ostler.toml").write_text(text)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "settings")


def program(place: Path, script: str) -> Path:
    file = place / "my-agent"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def test_any_program_can_be_the_agent(world: World, tmp_path: Path) -> None:
    """type = "command": it gets the prompt in a file, and its changes are committed."""
    agent = program(tmp_path, 'echo "I read $2"; cp "$2" prompt.md')
    settings(world, COMMAND.format(command=agent))
    task = world.new("Mend the gate", "-d", "It squeaks.")
    shown = check_ended(world, task, world.ostler("run", task).returncode)
    assert (shown["status"], shown["warnings"]) == ("completed", ["NO_MARK"])
    assert shown["attempts"][0]["executor"] == "mine"
    reported = world.git("show", f"ostler/{task}:prompt.md")
    assert "Mend the gate" in reported and "It squeaks." in reported
    assert "I read " in world.ostler("log", task).stdout


def test_a_program_that_fails_shows_why(world: World, tmp_path: Path) -> None:
    """The sentence has its last line on stderr; a reported limit defers the task."""
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    settings(world, COMMAND.format(command=program(tmp_path, "echo 'the oven is cold' >&2; exit 3")))
    task = world.new()
    done = world.ostler("run", task, code=1)
    assert "AGENT_FAILED: mine exited with status 3: the oven is cold" in done.stdout
    program(tmp_path, "echo 'HTTP 429: too many requests' >&2; exit 1")
    limited = world.new("Another one")
    world.ostler("run", limited, code=5)
    assert world.show(limited)["code"] == "RATE_LIMITED"


@pytest.mark.one_machine("in a cluster a worker starts the task, and records a missing agent as its failure")
def test_a_program_that_is_missing_is_named_before_anything_starts(world: World) -> None:
    """The hint names the setting to correct, and no task is created."""
    settings(world, COMMAND.format(command="no-such-agent"))
    done = world.ostler("run", "-p", "Mend the gate", code=2)
    assert "no-such-agent was not found" in done.stderr
    assert "correct executors.mine.command" in done.stderr
    assert world.json("status")["tasks"] == []


def test_a_script_in_the_task_is_played(world: World) -> None:
    """type = "scripted": edits are committed, the last text completes the phase."""
    settings(world, SCRIPTED)
    steps = f"```ostler-script\n- edit: {{path: a.txt, content: hello}}\n- say: Done. {DONE}\n```"
    task = world.new("Write a file", "-d", steps)
    shown = check_ended(world, task, world.ostler("run", task).returncode)
    assert (shown["status"], shown["warnings"]) == ("completed", [])
    assert world.git("show", f"ostler/{task}:a.txt") == "hello"


@pytest.mark.parametrize(
    ("body", "args", "message"),
    [
        ("```ostler-script\n- shout: hi\n```", "", "expected one of say, edit, run, sleep, fail, tool"),
        ("```ostler-script\n- say: [\n```", "", "prompt:"),
        ("no script", "", "no ```ostler-script block, and executors.scripted.args names no script"),
        ("", 'args = ["lost.yaml"]', "lost.yaml:1: the script cannot be read: no such file or directory"),
    ],
)
@pytest.mark.sampled(1)
def test_a_bad_script_is_one_sentence_and_one_attempt(
    world: World, body: str, args: str, message: str
) -> None:
    """File, line and the expected value; a retry would change nothing."""
    settings(world, f"{SCRIPTED}[executors.scripted]\n{args}\n")
    task = world.new("Write a file", "-d", body)
    done = world.ostler("run", task, code=1)
    shown = check_ended(world, task, done.returncode)
    assert (shown["status"], shown["code"], len(shown["attempts"])) == ("failed", "CONFIG_INVALID", 1)
    assert message in shown["message"] and "\n" not in shown["message"]
    assert f"CONFIG_INVALID: {shown['message']}" in done.stdout
    assert "Next: correct it; then   ostler retry" in done.stderr
