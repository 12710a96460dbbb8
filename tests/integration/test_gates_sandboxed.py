"""Gates and setup commands in the sandbox of agents: files, network, home directory, refusals."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from ostler.config.settings import Settings, WorkspaceSettings
from ostler.engine.core.moves import apply_gate_decided
from ostler.errors import Code
from ostler.model.event import GateDecided
from ostler.model.notice import AccessRefusedNotice
from ostler.model.policy.sandbox import Network
from ostler.sandbox.bubblewrap import find_bubblewrap

pytestmark = pytest.mark.skipif(not find_bubblewrap(os.environ), reason="bubblewrap is not installed")
FETCH = "python3 -c \"import urllib.request as u; u.urlopen('http://elsewhere.test/x', timeout=5)\""


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return GateWorld(tmp_path)


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostler.sandbox.bubblewrap.find_bubblewrap", lambda environ: None)


def inside(
    world: GateWorld,
    workspace: WorkspaceSettings | None = None,
    network: Network = "off",  # the proxy takes time to find the package indexes
    **gates: object,
) -> Settings:
    settings = world.settings(workspace, tier="bubblewrap", **gates)
    return replace(settings, sandbox=replace(settings.sandbox, network=network))


def test_a_gate_runs_in_the_sandbox(world: GateWorld) -> None:
    """It has the commit at the user's path, git, a home directory of its own and no other file."""
    other = world.world.root / "other"
    other.mkdir()
    command = (
        f"test $PWD = {world.root} && git log -1 --format=%H && ! test -e {other} && ! touch /usr/x 2>&-"
        f" && ! test -e {world.project.layout.database} && echo x > written && touch ~/x && ls ~"
    )
    for _ in range(2):
        event = world.command(command, inside(world))
        assert event.verdict == "pass", world.output(event)
        assert world.output(event).split() == [world.commit, "x"]
    assert event.check is not None and event.check.sandbox is not None
    assert (event.check.isolation, event.check.sandbox.tier, event.check.sandbox.verified) == (
        "bind-over",
        "bubblewrap",
        True,
    )
    assert not (world.root / "written").exists() and not (Path.home() / "x").exists()
    assert world.leftovers() == []


def test_without_isolation_it_runs_in_the_sandbox_too(world: GateWorld) -> None:
    event = world.command("git log -1 --format=%H && touch ~/x", inside(world, isolation="none"))
    assert event.verdict == "pass", event.reason
    assert world.output(event).split() == [world.commit] and not (Path.home() / "x").exists()
    assert event.check and event.check.sandbox and event.check.sandbox.tier == "bubblewrap"


def test_a_refused_file_is_no_verdict(world: GateWorld) -> None:
    """The agent cannot mend it: the task waits for a person, who reads the setting."""
    other = world.world.root / "other.txt"
    other.write_text("other")
    event = world.command(f"cat {other}", inside(world))
    assert (event.verdict, event.cause) == ("could_not_run", "refused")
    assert f'to allow it: sandbox.allow_paths = ["{other}"]' in event.reason
    after = apply_gate_decided(world.state, event)
    assert after.ending is not None and after.ending.code is Code.GATE_UNRUNNABLE
    allowed = inside(world)
    allowed = replace(allowed, sandbox=replace(allowed.sandbox, allow_paths=(str(other),)))
    assert world.command(f"cat {other}", allowed).verdict == "pass"


@pytest.mark.usefixtures("no_package_tools")
def test_a_refused_connection_is_no_verdict(world: GateWorld) -> None:
    """It is recorded, and its setting is named; a gate that passes has a warning with it."""
    event = world.command(FETCH, inside(world, network="proxy"))
    assert (event.verdict, event.cause) == ("could_not_run", "refused"), world.output(event)
    assert "the sandbox refused a connection to elsewhere.test:80" in event.reason
    assert 'sandbox.allow_hosts = ["elsewhere.test' in event.reason
    assert event.check is not None and len(event.check.refused) == 1
    lines = world.project.journal.feed(0, world.task.id)
    assert sum(b"access_refused" in bytes(line.body) for line in lines) == 1
    event = world.command(f"{FETCH} 2>/dev/null || true", inside(world, network="proxy"))
    assert (event.verdict, event.warnings) == ("pass", ("NETWORK_REFUSED",)), world.output(event)
    assert "sandbox.allow_hosts" in event.warning_details[0].text
    assert apply_gate_decided(world.state, event).warning_details == event.warning_details


def test_a_failure_without_a_refusal_goes_back(world: GateWorld) -> None:
    """Files that do not exist anywhere, and read-only ones, are failures of the work."""
    event = world.command("cat /nothing/here; touch /usr/x; cat missing.txt", inside(world))
    assert (event.verdict, event.cause) == ("fail", None)


def test_a_named_tier_that_does_not_work_is_no_verdict(world: GateWorld, no_bubblewrap: None) -> None:
    """The command does not run without its sandbox."""
    event = world.command("exit 0", inside(world))
    assert (event.verdict, event.cause) == ("could_not_run", "isolation")
    assert "SANDBOX_UNAVAILABLE" in event.reason


def test_without_a_sandbox_the_reason_is_recorded(world: GateWorld, no_bubblewrap: None) -> None:
    """Tier `auto`: the gate runs as before."""
    event = world.command("exit 0", world.settings(tier="auto"))
    assert event.verdict == "pass" and event.check and event.check.sandbox
    assert event.check.sandbox.tier == "supervised"
    assert event.check.sandbox.reason == "bubblewrap is not installed"


@pytest.mark.full
def test_a_control_has_no_network(world: GateWorld) -> None:
    """A control runs in the sandbox too, and its refusals are no warnings."""
    world.commit = world.world.commit({"sums.py": "x = 1\n"})
    event = world.command("python3 -B sums.py", inside(world, control=True))
    assert event.verdict == "pass" and event.check and event.check.control == "fails when broken"
    assert event.warnings == ()


def test_the_setup_of_a_worktree_runs_in_the_sandbox(world: GateWorld) -> None:
    """It can write the worktree and the home directory of the task, and nothing else."""
    other = world.world.root / "other"
    other.mkdir()
    setup = f"echo made > made.txt; echo A=1 > .env; echo x > ~/of-the-task; ! touch {other}/x; ! ls {other}"
    settings = inside(world, WorkspaceSettings(setup=setup))
    worktree = world.worktree(settings)
    assert (worktree.path / "made.txt").read_text() == "made\n"
    assert [*other.iterdir()] == [] and not (Path.home() / "of-the-task").exists()
    home = world.project.layout.sandbox(world.task.id) / "home"
    assert (home / "of-the-task").exists()
    kept = world.home / "pinned" / "setup" / ".env"
    assert kept.read_text() == "A=1\n"


@pytest.mark.full
def test_a_setup_that_fails_after_a_refusal_names_it(world: GateWorld) -> None:
    settings = inside(world, WorkspaceSettings(setup=FETCH), "proxy")
    failed = world.prepare(settings).event
    assert "the sandbox refused a connection to elsewhere.test:80" in str(failed)
    event = world.command("exit 0", settings)
    assert event.verdict == "could_not_run" and "elsewhere.test" in event.reason


def test_a_home_directory_of_a_task_is_not_that_of_its_gate(world: GateWorld) -> None:
    """What an agent leaves there does not run in the gate."""
    home = world.project.layout.sandbox(world.task.id) / "home"
    (home / ".config").mkdir(parents=True)
    assert world.command("ls -A ~; test ! -e ~/.config", inside(world)).verdict == "pass"


def test_a_tier_without_mounts_is_not_recorded_for_a_gate(world: GateWorld) -> None:
    """Gates are isolated as without a sandbox, and the record has the reason."""
    event = world.command("exit 0", world.settings(tier="limits"))
    assert event.verdict == "pass" and event.check and event.check.sandbox
    assert event.check.sandbox.tier == "supervised"
    assert event.check.sandbox.reason == "gates do not use the tier limits"


def test_records_of_refusals_are_read() -> None:
    """Old records have neither."""
    assert GateDecided("test", "command", "pass").warning_details == ()
    assert AccessRefusedNotice("file", "x").setting == ""
