"""Each tier that needs no namespaces, opened as for an attempt: its record, variables, files and limits."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_engine import FakeEngine
from ostler.calls.sandbox.open import OpenSandbox, SandboxRequest, open_sandbox
from ostler.calls.sandbox.workspace import create_plain_workspace
from ostler.config.settings import SandboxSettings
from ostler.errors import Code
from ostler.executors.exit_status import classify_exit
from ostler.model.command import Command, Exit
from ostler.model.policy.sandbox import Tier
from ostler.process.runner import DefaultCommandRunner
from ostler.sandbox.box.restrict import find_landlock_version
from ostler.sandbox.limits import disk

PORTS_VERSION = 4
SCRIPT = 'echo new > new; echo "$HOME"; cat ../other/secret 2>/dev/null; echo x > ../other/new; ulimit -f'
TIERS: list[Tier] = ["limits", "landlock", "docker"]


@pytest.fixture(params=TIERS)
def tier(request: pytest.FixtureRequest) -> Tier:
    if request.param == "landlock" and find_landlock_version() < PORTS_VERSION:
        pytest.skip("the kernel has no Landlock 4")
    if request.param == "docker" and not shutil.which("bwrap"):
        pytest.skip("the fake engine needs bubblewrap")
    return request.param


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    made = FakeEngine(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    yield made
    made.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("work", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "other" / "secret").write_text("secret\n")
    return tmp_path / "work"


def run(tier: Tier, work: Path, script: str, **settings: int) -> tuple[OpenSandbox, Exit, list[str]]:
    chosen = SandboxSettings(tier=tier, image="image", network="off", **settings)
    workspace = create_plain_workspace(work, work.parent / "state")
    request = SandboxRequest(workspace, chosen, dict(os.environ))
    lines: list[str] = []

    async def act() -> tuple[OpenSandbox, Exit]:
        async with open_sandbox(request) as sandbox:
            command = Command(
                ("/bin/sh", "-c", script), str(work), sandbox.env,
                launcher=sandbox.launcher, timeout_seconds=20.0, grace_seconds=0.2,
            )  # fmt: skip
            return sandbox, await DefaultCommandRunner().run(
                command, lambda line: bool(lines.append(line.decode()))
            )

    sandbox, ended = asyncio.run(act())
    return sandbox, ended, lines


@pytest.mark.usefixtures("engine")
def test_each_tier_confines_as_it_promises(tier: Tier, work: Path) -> None:
    """Only the worktree is written; only limits leaves other files open; permissions need a self-test."""
    sandbox, ended, lines = run(tier, work, SCRIPT, max_file_mb=3)
    home = {
        "limits": os.environ["HOME"],
        "landlock": str(sandbox.box.home) if sandbox.box else "",
        "docker": os.environ["HOME"],
    }[tier]
    assert ended.status == 0
    assert lines[0] == home
    assert ("secret" in lines) == (tier == "limits")
    assert (work / "new").exists()
    assert (work.parent / "other" / "new").exists() == (tier == "limits")
    assert sandbox.record.tier == tier
    assert sandbox.record.verified == (tier == "docker")
    if tier != "docker":  # the engine sets it
        assert lines[-1] == str(3 << 11)


@pytest.mark.usefixtures("engine")
def test_each_tier_stops_at_the_limit_of_the_disk(
    tier: Tier, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DISK_LIMIT, with the setting and the largest directory."""
    monkeypatch.setattr(disk, "_POLL_SECONDS", 0.05)
    script = "mkdir big; head -c 9000000 /dev/zero > big/file; sync big/file; sleep 60"
    _, ended, _ = run(tier, work, script, max_disk_mb=5)
    ending = classify_exit(ended, "claude")
    assert ending.code is Code.DISK_LIMIT
    assert re.search(rf"sandbox\.max_disk_mb is 5; largest: {work}/big [5-8] MB", ending.message)
