"""What an agent can do with Ostler inside its sandbox: report, propose tasks, and nothing else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from ostler.sandbox.bubblewrap import find_bubblewrap
from world import World

pytestmark = [
    pytest.mark.skipif(find_bubblewrap(os.environ) is None, reason="bubblewrap is not installed"),
    pytest.mark.usefixtures("no_package_tools"),
]
OSTLER = f"{sys.executable} -m ostler"


@pytest.fixture
def scripted(world: World) -> World:
    """A project whose agent runs the commands of a script in a sandbox."""
    world.environ |= {"OSTLER_SANDBOX__TIER": "auto", "OSTLER_RUN__EXECUTOR": "scripted"}
    world.environ["OSTLER_EXECUTORS__SCRIPTED__ARGS"] = '["script.yaml"]'
    return world


def run_script(world: World, *commands: str, code: int | None = 0) -> str:
    """Run a task whose agent changes a file and runs these commands; return the id of the task."""
    steps = [{"edit": {"path": "a.txt", "content": "hello\n"}}, *({"run": one} for one in commands)]
    (world.root / "script.yaml").write_text(json.dumps(steps))
    world.git("add", "script.yaml")
    world.git("commit", "-qm", "script")
    task = world.new("Say hello")
    world.ostler("run", task, code=code)
    return task


def read_output(world: World, task: str) -> str:
    return world.ostler("log", task, "--full").stdout


def test_report_of_an_agent_in_a_sandbox(scripted: World) -> None:
    """`ostler report` needs no journal, and works without the variables of the agent too."""
    task = run_script(
        scripted,
        f"{OSTLER} report --status complete; {OSTLER} report --status done-ish; true",
        f"env -i PATH=$PATH {OSTLER} report --status needs_review --reason 'a: \"b\"' --json",
        code=None,
    )
    shown = scripted.show(task)
    assert shown["status"] == "needs_review"
    assert shown["sandbox"] == shown["attempts"][0]["sandbox"]
    assert (shown["sandbox"]["tier"], shown["sandbox"]["verified"]) == ("bubblewrap", True)
    output = read_output(scripted, task)
    assert "is reported as complete." in output
    assert "invalid status 'done-ish' for a report of an agent" in output
    assert '"schema":"ostler.report/1"' in output


def test_proposal_of_an_agent_in_a_sandbox(scripted: World) -> None:
    """`ostler new` leaves a proposal, which waits for a person after the attempt."""
    task = run_script(
        scripted, f"{OSTLER} new 'Look at the tests' -d text", f"{OSTLER} report --status complete"
    )
    (proposal,) = [
        one for one in scripted.json("status")["tasks"] if one["proposed_by"] == task
    ]  # taken in once
    assert (proposal["status"], proposal["held"]) == ("needs_review", True)
    assert proposal["id"] in read_output(scripted, task)
    assert not (scripted.root / f".ostler/worktrees/{task}/.ostler/proposals").exists()


@pytest.mark.full
def test_invalid_proposals_are_refused(scripted: World, tmp_path: Path) -> None:
    """Files that are no proposals, too large or links are not taken in; the warning names the reason."""
    secret = tmp_path / "secret.json"
    secret.write_text('{"title": "Stolen"}')
    names = [f"{number:016x}.json" for number in range(3)]
    task = run_script(
        scripted,
        "mkdir .ostler/proposals && cd .ostler/proposals && "
        f"echo '{{' > {names[0]} && head -c 400000 /dev/zero > {names[1]} && ln -s {secret} {names[2]}",
        f"{OSTLER} report --status complete",
    )
    shown = scripted.show(task)
    assert len(scripted.json("status")["tasks"]) == 1
    assert sum("a proposal of the agent was refused" in one for one in shown["warnings"]) == 3


@pytest.mark.full
def test_other_commands_in_a_sandbox(scripted: World) -> None:
    """A command that needs the journal gives one sentence, and creates no project."""
    task = run_script(scripted, f"{OSTLER} status; {OSTLER} show x; ls -a .ostler", code=None)
    output = read_output(scripted, task)
    assert output.count(f"this process runs in the sandbox of {task}, where the journal") == 2
    assert "ostler.db" not in output


def test_shell_of_a_task_is_in_its_sandbox(scripted: World, tmp_path: Path) -> None:
    """The worktree is writable, another project is not readable; --no-sandbox opens it outside."""
    other = tmp_path / "other.txt"
    other.write_text("secret")
    task = run_script(scripted, f"{OSTLER} report --status blocked --reason stop", code=None)
    probe = f"echo by hand > b.txt; cat {other} > c.txt; echo $OSTLER_SANDBOX > tier"
    scripted.ostler("shell", task, "sh", "-c", f"{probe}; exit 3", code=3)
    tree = Path(scripted.show(task)["worktree"])
    assert (tree / "b.txt").read_text() == "by hand\n"
    assert (tree / "c.txt").read_text() == ""
    assert (tree / "tier").read_text() == "bubblewrap\n"
    scripted.ostler("shell", "--no-sandbox", task, "sh", "-c", f"cat {other} > c.txt")
    assert (tree / "c.txt").read_text() == "secret"


@pytest.mark.full
def test_attach_uses_the_home_directory_of_the_task(world: World) -> None:
    """The agent's program gets the session that its attempt left in the private home directory."""
    world.environ["OSTLER_SANDBOX__TIER"] = "auto"
    world.behave(fault="blocked")
    task = world.new("Paint")
    world.ostler("run", task, code=None)
    session = world.show(task)["attempts"][-1]["session_id"]
    home = Path(world.show(task)["worktree"]).parents[2] / f".git/ostler/tasks/{task}/sandbox/home"
    (home / "session").write_text("kept")
    program = world.agents / "mine"
    program.write_text('#!/bin/sh\necho "$@" > out; cat ~/session >> out; echo >> out; pwd >> out\n')
    program.chmod(0o755)
    world.ostler("attach", task, OSTLER_CLAUDE_PATH=str(program))
    tree = Path(world.show(task)["worktree"])
    assert (tree / "out").read_text().split() == ["--resume", session, "kept", str(tree)]


def test_agent_without_a_task_is_in_a_sandbox(world: World, tmp_path: Path) -> None:
    """`ostler agent spawn` works in the project; the journal and the git directory are protected."""
    (tmp_path / "other.txt").write_text("secret")
    steps = [{"run": "echo x > own.txt; ls -a .git/ostler .ostler; touch .git/hooks/post-commit; true"}]
    steps += [{"run": f"cat {tmp_path / 'other.txt'} || true"}]
    (world.root / "script.yaml").write_text(json.dumps(steps))
    world.environ |= {"OSTLER_SANDBOX__TIER": "auto", "OSTLER_RUN__EXECUTOR": "scripted"}
    world.environ["OSTLER_EXECUTORS__SCRIPTED__ARGS"] = '["script.yaml"]'
    world.new("Paint")
    printed = world.ostler("agent", "spawn", "-p", "Go", "--json").stdout
    assert (world.root / "own.txt").exists()
    assert "ostler.db" not in printed
    assert not (world.root / ".git/hooks/post-commit").exists()
    assert "No such file" in printed
