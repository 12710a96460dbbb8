"""Command gates with the node_modules of the commit's lockfile, on machines without namespaces."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from gate_world import GateWorld
from git_world import git
from ostler.config.settings import Settings, WorkspaceSettings
from ostler.model.event import GateDecided
from ostler.sandbox import bubblewrap, unshare
from wheels import make_npm_archive

pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
MANIFEST = {"private": True, "workspaces": ["packages/*"], "dependencies": {"left": "file:left.tgz"}}
LOCK = {
    "lockfileVersion": 3,
    "packages": {
        "": {"workspaces": ["packages/*"], "dependencies": {"left": "file:left.tgz"}},
        "node_modules/left": {"version": "1.0.0", "resolved": "file:left.tgz"},
        "node_modules/sums": {"resolved": "packages/sums", "link": True},
        "packages/sums": {"version": "1.0.0"},
    },
}
FILES = {
    # The scripts of the project need its files, which the build of the environment does not have.
    "package.json": json.dumps({**MANIFEST, "scripts": {"prepare": "node missing.js"}}),
    "package-lock.json": json.dumps(LOCK),
    "packages/sums/package.json": '{"name": "sums", "version": "1.0.0", "main": "index.js"}\n',
    "packages/sums/index.js": "exports.add = (a, b) => a + b;\n",
    "test.js": "if (require('sums').add(1, require('left')) !== 3) process.exit(1);\n",
}
GATE = "node test.js"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GateWorld:
    """A workspace as `npm install` makes it, with a package of an archive."""
    monkeypatch.setattr(bubblewrap, "find_bubblewrap", lambda environ: None)
    monkeypatch.setattr(unshare, "find_unshare", lambda environ: None)
    world = GateWorld(tmp_path, FILES)
    make_npm_archive(world.root / "left.tgz", "left", "module.exports = 2;\n")
    (world.root / "node_modules").mkdir()
    (world.root / "node_modules" / "sums").symlink_to("../packages/sums")
    world.environ |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    commit(world)
    return world


def commit(world: GateWorld) -> None:
    git(world.root, "add", "-A")
    git(world.root, "commit", "-q", "-m", "change")
    world.commit = git(world.root, "rev-parse", "HEAD")


def settings() -> Settings:
    return GateWorld.settings(WorkspaceSettings(link=("node_modules",)))


def isolation_of(event: GateDecided) -> str:
    assert event.check is not None
    return event.check.isolation or event.check.no_environment


def test_a_workspace_package_is_taken_from_the_commit(world: GateWorld, tmp_path: Path) -> None:
    """npm runs once; a file that the gate writes is not in the cache and not in the user's directory."""
    passed = world.command(f"{GATE} && echo 'module.exports = 9;' > node_modules/left/index.js", settings())
    assert passed.verdict == "pass", world.output(passed)
    assert isolation_of(passed).startswith("env:"), isolation_of(passed)
    built = next((tmp_path / "cache/ostler/environments").glob("*.seal")).stat().st_ino
    again = world.command(GATE, settings())
    assert (again.verdict, isolation_of(again)) == ("pass", isolation_of(passed)), world.output(again)
    assert [path.stat().st_ino for path in (tmp_path / "cache/ostler/environments").glob("*.seal")] == [built]
    assert os.listdir(world.root / "node_modules") == ["sums"]

    (world.root / "packages/sums/index.js").write_text("throw new Error('planted');\n")
    commit(world)
    (world.root / "packages/sums/index.js").write_text(FILES["packages/sums/index.js"])
    broken = world.command(GATE, settings())
    assert broken.verdict == "fail" and "planted" in world.output(broken)
    assert isolation_of(broken) == isolation_of(passed) and not world.leftovers()


def test_own_modules_of_the_commit_are_kept(world: GateWorld) -> None:
    """Only the programs on PATH of the user's node_modules are replaced."""
    programs = world.root / "node_modules" / ".bin"
    programs.mkdir()
    (programs / "sums").symlink_to("../../packages/sums/index.js")
    world.environ["PATH"] = f"{programs}:{world.environ['PATH']}"
    make = "mkdir -p node_modules/left && echo 'module.exports = 7' > node_modules/left/index.js"
    setup = WorkspaceSettings(setup=make)
    event = world.command("node -e \"if (require('left') !== 7) process.exit(1)\"", GateWorld.settings(setup))
    assert event.verdict == "pass" and isolation_of(event).startswith("env:"), isolation_of(event)


def test_a_link_that_is_left_gives_no_verdict(world: GateWorld, tmp_path: Path) -> None:
    """A package of `npm link` is beside node, not in the node_modules that is replaced."""
    node = shutil.which("node")
    assert node is not None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").symlink_to(node)
    (tmp_path / "lib" / "node_modules").mkdir(parents=True)
    (tmp_path / "lib" / "node_modules" / "sums").symlink_to(world.root / "packages" / "sums")
    world.environ["PATH"] = f"{tmp_path}/bin:{world.environ['PATH']}"
    event = world.command(GATE, settings())
    assert event.verdict == "could_not_run"
    assert event.check and f"a link is left: {tmp_path}/lib" in event.check.no_environment


def test_a_lockfile_that_cannot_be_installed_gives_no_verdict(world: GateWorld) -> None:
    """The guard is for Python only: the link to the user's package is named."""
    (world.root / "package-lock.json").write_text("{}")
    commit(world)
    event = world.command(GATE, settings())
    assert event.verdict == "could_not_run" and "node_modules/sums -> " in event.reason
    assert event.check and "old format" in event.check.no_environment
