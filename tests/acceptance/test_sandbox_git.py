"""Git of an agent in its sandbox, through whole runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ostler.git.private.programs import PUSH_REFUSED
from world import World, wait_until

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
DONE = '{"status": "complete"}'
SANDBOXED = {"OSTLER_SANDBOX__TIER": "bubblewrap", "OSTLER_RUN__EXECUTOR": "scripted"}
COMMIT = "git -c user.name=a -c user.email=a@b commit -q"


@pytest.fixture
def origin(world: World, tmp_path: Path) -> Path:
    """The remote of the project."""
    world.git("clone", "-q", "--bare", ".", str(tmp_path / "origin.git"))
    world.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    return tmp_path / "origin.git"


def create(world: World, *commands: str) -> str:
    steps = "".join(f"- run: {command}\n" for command in commands)
    return world.new("Use git", "-d", f"```ostler-script\n{steps}- say: 'Done. {DONE}'\n```")


@pytest.mark.usefixtures("no_package_tools")
def test_an_agent_commits_and_is_refused_a_push(world: World, origin: Path) -> None:
    """Its commits are on the task's branch, main and the remote stay, and the refusal is recorded."""
    heads = world.git("for-each-ref", "refs/heads", "refs/remotes")
    task = create(
        world,
        f"echo one > one.txt && git add -A && {COMMIT} -m 'by the agent'",
        "git branch -f main && git branch side && git push origin HEAD:main || true",
        "echo two > two.txt",
    )
    world.ostler("run", task, **SANDBOXED)
    assert world.git("log", "--format=%s", f"ostler/{task}").splitlines()[1:] == ["by the agent", "first"]
    assert world.git("show", f"ostler/{task}:two.txt") == "two\n"
    after = world.git("for-each-ref", "refs/heads", "refs/remotes").splitlines()
    assert [line for line in after if not line.endswith(f"/ostler/{task}")] == heads.splitlines()
    assert world.git("ls-remote", str(origin), "main").split()[0] == world.git("rev-parse", "main").strip()
    refused = [event for event in world.events(task) if event["type"] == "access_refused"]
    assert [(event["kind"], event["target"]) for event in refused] == [("push", "origin")]
    warned = str(world.show(task)["warning_details"])
    assert f"the branch side of the agent is kept as refs/ostler/agent/{task}/heads/side" in warned


@pytest.mark.full
def test_commits_of_a_killed_run_are_taken_over(world: World) -> None:
    """The next run continues on top of what the agent committed before the kill."""
    part = f"echo one > one.txt && git add -A && {COMMIT} -m first-part && echo two > two.txt && sleep 30"
    task = create(world, f"test -e two.txt || ({part})", "git log -1 --format=%s | grep first-part")
    two = world.root / ".ostler" / "worktrees" / task / "two.txt"
    child = world.start("run", task, **SANDBOXED)
    wait_until(two.exists, 20, "no commit")
    child.kill()
    child.wait()
    wait_until(lambda: not world.survivors(), 20, "processes are left")
    world.ostler("run", task, **SANDBOXED)
    assert "first-part" in world.git("log", "--format=%s", f"ostler/{task}").splitlines()
    assert world.git("show", f"ostler/{task}:two.txt") == "two\n"


def test_an_agent_without_a_sandbox_is_refused_a_push(world: World, origin: Path) -> None:
    """The remote stays at its commit, and the agent's output has the reason."""
    task = create(world, f"{COMMIT} --allow-empty -m one; git push origin HEAD:main 2> output.txt || true")
    before = world.git("ls-remote", str(origin))
    world.ostler("run", task, OSTLER_RUN__EXECUTOR="scripted", OSTLER_SANDBOX__TIER="supervised")
    assert world.git("ls-remote", str(origin)) == before
    assert world.git("show", f"ostler/{task}:output.txt").startswith(PUSH_REFUSED)
