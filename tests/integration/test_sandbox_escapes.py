"""A task's agent makes about a hundred attempts to leave its sandbox; none succeeds. Outside, they do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from another_user import USER, as_root_without_user_namespaces, as_user, can_use
from escape_world import ESCAPES, SECRET, EscapeWorld

sys.path.insert(0, str(ESCAPES))
from attempt import load_attempts

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
ATTEMPTS = load_attempts()
IS_ROOT = os.geteuid() == 0
HARMLESS = ("unshare", "--mount", "--uts", "--ipc", "--") if IS_ROOT else ()


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user can reach."""
    with tempfile.TemporaryDirectory(prefix="escapes-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def check(world: EscapeWorld, prefix: tuple[str, ...] = (), **environ: str) -> None:
    """Make the attempts in a sandbox; check that none succeeded and that nothing changed outside."""
    results = world.attack(prefix, **environ)
    assert results.keys() == ATTEMPTS.keys()
    assert len(results) >= 100
    assert {name: text for name, text in results.items() if text.startswith("succeeded")} == {}
    assert world.find_changes() == []
    assert world.find_trapped() == []
    left = [one.info["cmdline"] for one in psutil.process_iter(["cmdline"])]
    assert [one for one in left if (one or [""])[0] == world.facts["daemon_name"]] == []


def test_no_attempt_succeeds(place: Path) -> None:
    """No attempt succeeds inside; outside, each one does that is harmless there."""
    world = EscapeWorld(place)
    try:
        check(world)
        control = world.attack_without_sandbox(HARMLESS)
        failed = {name for name, text in control.items() if not text.startswith("succeeded")}
        wanted = {"user", "root"} if IS_ROOT else {"user"}
        assert [name for name in failed if ATTEMPTS[name].control in wanted] == []
        assert len(control) - len(failed) >= 40
        assert len(world.find_changes()) == 8  # the canaries work
    finally:
        world.close()


@pytest.mark.full
@pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")
def test_no_attempt_of_another_user_succeeds(place: Path) -> None:
    """The sandbox holds for a user who is not root."""
    if not can_use():
        pytest.skip("this container cannot start programs as another user")
    world = EscapeWorld(place, USER)
    try:
        check(world, as_user(), OSTLER_SANDBOX__NETWORK="off")  # the proxy is the same for each user
    finally:
        world.close()


@pytest.mark.full
@pytest.mark.skipif(not IS_ROOT, reason="only root can use a sandbox without a user namespace")
def test_no_attempt_succeeds_without_user_namespace(place: Path) -> None:
    """Root where user namespaces are refused: the sandbox has none, and holds as well."""
    world = EscapeWorld(place)
    try:
        check(world, as_root_without_user_namespaces(), OSTLER_SANDBOX__NETWORK="off")
    finally:
        world.close()


# A gate runs in a checkout of its own, which is deleted afterwards: it may change all of it.
OWN_CHECKOUT = {"replace_pinned_configuration", "replace_the_pointer_to_the_git_directory"}


@pytest.mark.full
def test_no_attempt_of_a_gate_succeeds(place: Path) -> None:
    """The command of a gate has the same sandbox, whatever the commit brings along."""
    world = EscapeWorld(place)
    try:
        copy = f"mkdir -p probe; cp {world.agent}/*.py {world.agent}/facts.json probe/"
        (world.agent / "probe").write_text(f"#!/bin/sh\n{copy}\n")
        python = os.path.realpath(sys.executable)
        gate = f"{python} -I probe/probe.py probe/facts.json /tmp/found; cat /tmp/found"
        commands = json.dumps({"implement": gate})
        world.ostler("run", "-p", "x", OSTLER_GATES__COMMANDS=commands, OSTLER_GATES__CONTROL="false")
        (log,) = (world.root / ".git/ostler/tasks").rglob("gates/implement-1.log")
        text = log.read_text()
        results = json.JSONDecoder().raw_decode(text[text.index('{"') :])[0]
        assert results.keys() == ATTEMPTS.keys()
        assert {name for name, found in results.items() if found.startswith("succeeded")} <= OWN_CHECKOUT
        assert world.find_changes() == []
    finally:
        world.close()


def test_links_lead_bubblewrap_elsewhere(tmp_path: Path) -> None:
    """Without our own mount points, bubblewrap creates a directory where a link of an agent leads."""
    home, trap, tool = (tmp_path / name for name in ("home", "trap", "tool"))
    for one in (home, trap, tool):
        one.mkdir()
    (home / ".local").symlink_to(f"/oldroot{trap}")
    mounts = ["--bind", str(home), "/home/me", "--ro-bind", str(tool), "/home/me/.local/bin"]
    subprocess.run(["bwrap", "--ro-bind", "/", "/", "--tmpfs", "/home", *mounts, "true"], check=False)
    assert [one.name for one in trap.iterdir()] == ["bin"]


def test_a_document_task_has_no_passwords_of_remotes(place: Path) -> None:
    """A task without a worktree has the project's history, and no address with a password."""
    world = EscapeWorld(place)
    try:
        lines = ("#!/bin/sh", f"cd {world.root}", "cat .git/config", "git log --oneline", "ls .ostler")
        (world.agent / "probe").write_text("\n".join(lines))
        skill = world.root / ".agents/skills/writer/SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\nname: writer\ndescription: writes\nsquad: creative\n---\nWrite.\n")
        task = world.ostler("new", "Write it", "--skill", "writer", "--executor", "probe").stdout.strip()
        done = world.ostler("run", task, OSTLER_SANDBOX__NETWORK="off")
        assert done.returncode == 0, done.stdout + done.stderr
        text = (world.root / f"outputs/creative/writer/{task}.md").read_text()
        assert "https://example.org/x.git" in text
        assert " first\n" in text
        assert text.endswith("\ndesks")
        assert SECRET not in text
    finally:
        world.close()
