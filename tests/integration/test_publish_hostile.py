"""Publishing from a repository full of traps: none runs, and the work is published."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_traps import (
    Traps,
    commit_bait,
    plant_by_include,
    plant_commondir,
    plant_hooks,
    plant_in_configuration,
    plant_pointer,
    touch_bait,
)
from git_world import BRANCH, commit_step, git
from ostler.git.identity import OSTLER
from ostler.git.publish.publish import PublishResult, publish_merge
from ostler.git.repository import Worktree
from ostler.testing.fake_github import FakeGitHub
from publish_world import PublishWorld, open_github

Trapped = tuple[PublishWorld, Worktree, Traps]


@pytest.fixture
def trapped(tmp_path: Path) -> Trapped:
    """A finished task in whose repository an agent planted every trap for git."""
    world = PublishWorld(tmp_path)
    commit_bait(world)
    git(world.project, "push", "-q", "origin", "main")
    worktree = world.prepare()
    touch_bait(worktree)
    (worktree.path / "bait.merge").write_text("merge\n")
    traps = Traps(world)
    world.others_push({"theirs.txt": "theirs", "theirs.smudge": "theirs\n"})
    commit_step(worktree)
    plant_in_configuration(traps)
    plant_by_include(traps)
    plant_hooks(traps, worktree)
    for name in ("pre-push", "pre-rebase", "post-rewrite", "pre-merge-commit", "post-merge"):
        hook = world.project / ".git" / "hooks" / name
        hook.write_text(f'#!/bin/sh\n: > "{traps.room / name}"\n')
        hook.chmod(0o755)
    for key in ("uploadpack", "receivepack", "vcs"):
        git(world.project, "config", f"remote.origin.{key}", traps.script(f"remote-{key}", "exit 1"))
    for key in ("core.gitProxy", "protocol.ext.allow", "credential.http://github.localhost.helper"):
        traps.set(key, key.replace("/", "_"), prefix="!" if "helper" in key else "")
    git(world.project, "config", "protocol.ext.allow", "always")
    plant_commondir(traps, worktree)
    plant_pointer(traps, worktree)
    traps.disarm()
    return world, worktree, traps


@pytest.fixture
def github(trapped: Trapped, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    with open_github(trapped[0].bare, trapped[0].root / "gh", monkeypatch) as made:
        yield made


def test_no_trap_fires_on_the_way_to_a_pull_request(trapped: Trapped, github: FakeGitHub):
    """Fetched, rebased, pushed and proposed; no canary exists."""
    world, worktree, traps = trapped
    published = world.publish(worktree)
    assert traps.fired() == set()
    assert (published.result, world.there()) == (PublishResult.PULL_REQUEST, published.commit)
    assert git(world.bare, "show", f"{BRANCH}:new.clean", f"{BRANCH}:theirs.txt") == "new\ntheirs"
    assert (worktree.path / "theirs.smudge").read_text() == "theirs\n"


def test_no_trap_fires_on_the_way_into_the_target(trapped: Trapped):
    """Merged locally; no canary exists."""
    world, worktree, traps = trapped
    git(
        world.project,
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
        "branch",
        "target",
        "main",
    )
    traps.disarm()
    published = publish_merge(worktree, "target", OSTLER, "merge")
    assert traps.fired() == set()
    assert published.result is PublishResult.MERGED


def test_plain_git_fires_them(trapped: Trapped):
    """The traps are real: an ordinary fetch, rebase and push start them."""
    world, worktree, traps = trapped
    (worktree.path / ".git").write_text(f"gitdir: {worktree.repository.git_dir}\n")
    (worktree.repository.git_dir / "commondir").write_text("../..\n")
    for key in ("vcs", "uploadpack"):
        git(worktree.path, "fetch", "origin", check=False)
        git(world.project, "config", "--unset", f"remote.origin.{key}")
    git(worktree.path, "-c", "core.hooksPath=/dev/null", "fetch", "origin")
    git(worktree.path, "rebase", "origin/main", check=False)
    git(world.project, "push", "origin", BRANCH, check=False)
    git(world.project, "config", "--unset", "remote.origin.receivepack")
    git(world.project, "push", "origin", BRANCH, check=False)
    expected = {"remote-uploadpack", "remote-receivepack", "pre-push", "fsmonitor"}
    assert traps.fired() >= expected, sorted(traps.fired())
