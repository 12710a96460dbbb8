"""The sandbox in records and on screens: of attempts, tasks, runs and `ostler doctor`."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from ostler.calls.sandbox.open import SandboxRequest, open_sandbox
from ostler.calls.sandbox.workspace import create_plain_workspace
from ostler.config.settings import SandboxSettings
from ostler.model.policy.sandbox import (
    Network,
    RefusedAccess,
    SandboxRecord,
    describe_refusal,
    describe_sandbox,
)
from ostler.project.inspection import confinement
from ostler.project.inspection.confinement import describe_unconfined, find_confinement
from ostler.sandbox.box.tiers import ChosenTier
from ostler.sandbox.bubblewrap import find_bubblewrap
from world import KILL, World, end, wait_until

needs_bubblewrap = pytest.mark.skipif(
    find_bubblewrap(os.environ) is None, reason="bubblewrap is not installed"
)


@pytest.fixture
def without_bubblewrap(tmp_path: Path) -> str:
    """A PATH with every program of this one except bubblewrap."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        for one in Path(place).glob("*") if place else ():
            target = folder / one.name
            target.unlink(missing_ok=True)
            target.symlink_to(one)
    (folder / "bwrap").unlink(missing_ok=True)
    return str(folder)


def test_work_without_a_sandbox_is_recorded_and_shown(world: World, without_bubblewrap: str) -> None:
    """The run prints one line; every record names the reason and the permissions."""
    world.environ |= {"OSTLER_SANDBOX__TIER": "auto", "PATH": without_bubblewrap}
    task = world.new()
    printed = world.ostler("run", task)
    assert printed.stderr.count("agents run without a sandbox: bubblewrap is not installed") == 1
    shown = world.show(task)
    expected = {"tier": "supervised", "verified": False, "reason": "bubblewrap is not installed"}
    assert expected.items() <= shown["sandbox"].items()
    assert shown["permissions"] == "accept-edits"
    assert shown["attempts"][0]["sandbox"] == shown["sandbox"]
    (ended,) = [one for one in world.events(task) if one["type"] == "attempt_ended"]
    assert (ended["sandbox"], ended["permissions"]) == (shown["sandbox"], "accept-edits")
    assert world.json("status")["tasks"][0]["sandbox"] == shown["sandbox"]
    text = world.ostler("show", task).stdout
    assert "sandbox   none (bubblewrap is not installed); permissions accept-edits" in text
    plan = world.json("run", "--dry-run", "-p", "Paint")
    assert (plan["sandbox"]["reason"], plan["permissions"]) == ("bubblewrap is not installed", "accept-edits")
    checks = {one["name"]: one for one in world.json("doctor", code=None)["checks"]}
    assert not checks["sandbox"]["ok"] and "apt-get install bubblewrap" in checks["sandbox"]["fix"]


@needs_bubblewrap
@pytest.mark.usefixtures("no_package_tools")
def test_refused_access_is_shown_in_every_view(world: World, tmp_path: Path) -> None:
    """A push, a file of another project and a host: each with the next step, and a warning of the task."""
    other = tmp_path / "other" / "notes.txt"
    other.parent.mkdir()
    other.write_text("secret")
    world.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    steps = [{"edit": {"path": "a.txt", "content": "hello\n"}}]
    steps += [{"run": f"git push origin HEAD:main; cat {other}; true"}]
    steps += [{"run": "curl -sS -m 5 https://host.example/; curl -sS -m 5 https://host.example/; true"}]
    (world.root / "script.yaml").write_text(json.dumps(steps))
    world.git("add", "script.yaml")
    world.git("commit", "-qm", "script")
    world.environ |= {"OSTLER_SANDBOX__TIER": "auto", "OSTLER_RUN__EXECUTOR": "scripted"}
    world.environ["OSTLER_EXECUTORS__SCRIPTED__ARGS"] = '["script.yaml"]'
    task = world.new()
    run = world.ostler("run", task).stdout
    shown = world.show(task)
    refused = {one["kind"]: one for one in shown["refused"]}
    assert set(refused) == {"push", "file", "network"}
    assert refused["network"]["setting"] == 'sandbox.allow_hosts = ["host.example"]'
    assert {"PUSH_REFUSED", "FILE_REFUSED", "NETWORK_REFUSED"} <= set(shown["warnings"])
    views = [run, world.ostler("show", task).stdout, world.ostler("log", task).stdout]
    views += [world.ostler("events", task).stdout, *["\n".join(shown["warning_texts"])]]
    for view in views:
        assert all(one["text"] in view for one in refused.values())
    assert "[NETWORK_REFUSED]" in world.ostler("status").stdout


@needs_bubblewrap
@pytest.mark.parametrize(("network", "verified"), [("off", True), ("on", False)])
def test_the_network_of_the_machine_keeps_permission_checks(
    tmp_path: Path, network: Network, verified: bool
) -> None:
    """Services of the user are reachable with it, which the self-test does not allow."""
    settings = SandboxSettings(network=network)
    workspace = create_plain_workspace(tmp_path, tmp_path / "state")

    async def open_record() -> SandboxRecord:
        async with open_sandbox(SandboxRequest(workspace, settings, dict(os.environ))) as opened:
            return opened.record

    assert asyncio.run(open_record()).verified is verified
    assert find_confinement(settings, os.environ).record.verified is verified


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (SandboxRecord("bubblewrap", True, network="proxy"), "bubblewrap, network proxy"),
        (SandboxRecord("landlock", network="off"), "landlock, network off, not verified by a self-test"),
        (SandboxRecord(reason="why"), "none (why)"),
        (SandboxRecord("limits"), "none (sandbox.tier is limits)"),
    ],
)
def test_sandbox_in_words(record: SandboxRecord, text: str) -> None:
    """The tier and the network, or why there is none."""
    assert describe_sandbox(record) == text


def test_refusals_in_words() -> None:
    """Each names the setting that would allow it; a push has none."""
    assert RefusedAccess("file", "/x", "s").text == describe_refusal("file", "/x", "s")
    assert describe_refusal("file", "/x", "s") == "the sandbox refused access to /x; to allow it: s"
    assert "git.on_complete" in describe_refusal("push", "origin")


@pytest.mark.parametrize(
    ("switch", "fix"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "AppArmor profile"),
        ("kernel/unprivileged_userns_clone", "sysctl kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "sysctl user.max_user_namespaces"),
    ],
)
def test_refused_user_namespaces_have_a_fix(monkeypatch: pytest.MonkeyPatch, switch: str, fix: str) -> None:
    """The switch of the kernel that refuses them is named."""
    failed = ChosenTier("supervised", reason="/usr/bin/bwrap: its self-test failed")
    values = {"kernel/apparmor_restrict_unprivileged_userns": "0", switch: "0"}
    values |= {switch: "1"} if "apparmor" in switch else {}
    monkeypatch.setattr(confinement, "choose_tier", lambda *_: failed)
    monkeypatch.setattr(confinement, "_read_switch", lambda name: values.get(name, "1"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert fix in find_confinement(SandboxSettings(), {}).fix
    assert "its self-test failed" in describe_unconfined(SandboxSettings(), {})
    assert describe_unconfined(SandboxSettings(tier="supervised"), {}) == ""


def test_sandbox_of_an_attempt_is_recorded_when_it_starts(world: World, without_bubblewrap: str) -> None:
    """An attempt whose run is killed has it too."""
    world.environ |= {"OSTLER_SANDBOX__TIER": "auto", "PATH": without_bubblewrap}
    world.behave(fault="a1_hangs")
    task = world.new()
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    end(run, KILL)
    # The task is taken until the keeper has ended the agent.
    wait_until(lambda: world.show(task)["attempts"][0]["status"] == "interrupted", 30, "the task is taken")
    (attempt,) = world.show(task)["attempts"]
    assert attempt["sandbox"]["reason"] == "bubblewrap is not installed"
