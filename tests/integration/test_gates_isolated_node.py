"""Command gates of Node projects whose node_modules link to the user's checkout (T1)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate_world import GateWorld
from git_world import git
from ostler.config.settings import Settings, WorkspaceSettings
from ostler.model.policy.sandbox import Tier

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
FILES = {
    "package.json": '{"private": true, "workspaces": ["packages/*"]}\n',
    "packages/sums/package.json": '{"name": "sums", "version": "1.0.0", "main": "index.js"}\n',
    "packages/sums/index.js": "exports.add = (a, b) => a + b;\n",
    "packages/sums/cli.js": "#!/usr/bin/env node\nconsole.log(require('sums').add(1, 2));\n",
    "test.js": "const { add } = require('sums');\nif (add(1, 2) !== 3) process.exit(1);\n",
    ".gitignore": "node_modules/\n.ostler/\n",
}
PLANTED = "throw new Error('planted');\n"
LINKED = WorkspaceSettings(link=("node_modules",))


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    """A workspace as `npm install` makes it: packages and programs are symbolic links."""
    world = GateWorld(tmp_path, FILES)
    modules = world.root / "node_modules"
    (modules / ".bin").mkdir(parents=True)
    (modules / "sums").symlink_to("../packages/sums")
    (modules / ".bin" / "sums").symlink_to("../sums/cli.js")
    (world.root / "packages/sums/cli.js").chmod(0o755)
    git(world.root, "commit", "-q", "-am", "executable")
    world.commit = git(world.root, "rev-parse", "HEAD")
    return world


def plant(world: GateWorld) -> None:
    """Commit a broken package; the user's checkout stays as it is."""
    (world.root / "packages/sums/index.js").write_text(PLANTED)
    git(world.root, "commit", "-q", "-am", "broken")
    world.commit = git(world.root, "rev-parse", "HEAD")
    git(world.root, "reset", "-q", "--hard", "HEAD~1")


@pytest.mark.parametrize(
    "command", ["node test.js", "node_modules/.bin/sums", "cd packages && node ../test.js"]
)
@pytest.mark.sampled(1)
def test_a_workspace_package_is_taken_from_the_commit(world: GateWorld, command: str) -> None:
    """A linked node_modules does not lead to the user's packages."""
    settings = world.settings(LINKED)
    passed = world.command(command, settings)
    assert passed.verdict == "pass", world.output(passed)
    assert passed.check is not None and passed.check.isolation == "bind-over"
    assert any("node_modules/sums -> " in link for link in passed.check.links)
    plant(world)
    broken = world.command(command, settings)
    assert broken.verdict == "fail" and "planted" in world.output(broken)


def test_a_program_on_the_path_is_taken_from_the_commit(world: GateWorld) -> None:
    """node_modules/.bin on PATH is mounted, and its links lead to the commit."""
    world.environ["PATH"] = f"{world.root}/node_modules/.bin:{world.environ['PATH']}"
    assert world.command("sums").verdict == "pass"
    plant(world)
    assert world.command("sums").verdict == "fail"


@pytest.mark.full
def test_a_package_of_npm_link_is_taken_from_the_commit(world: GateWorld) -> None:
    """A link through a directory outside the project leads to the commit too."""
    modules, outside = world.root / "node_modules", world.world.root / "global"
    outside.mkdir()
    (outside / "sums").symlink_to(world.root / "packages" / "sums")
    (modules / "sums").unlink()
    (modules / "sums").symlink_to(outside / "sums")
    tiers: tuple[Tier, ...] = ("supervised", "bubblewrap")
    for tier in tiers:
        assert world.command("node test.js", world.settings(LINKED, tier=tier)).verdict == "pass"
    plant(world)
    for tier in tiers:
        assert world.command("node test.js", world.settings(LINKED, tier=tier)).verdict == "fail"


def test_without_isolation_a_link_is_no_verdict(world: GateWorld) -> None:
    """The command would test the user's packages."""
    settings: Settings = world.settings(LINKED, isolation="none")
    event = world.command("node test.js", settings)
    assert event.verdict == "could_not_run" and "(node_modules/.bin/sums -> " in event.reason
