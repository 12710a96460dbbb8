"""A private git directory full of traps: nothing of it runs, is followed or moves a ref of the user."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from git_traps import Traps, commit_bait
from git_world import BRANCH, World, commit_step, git, make_world, snapshot_of, tree
from ostler.git.private.importing import import_commits
from private_git_traps import (
    PLANTS,
    SECRET,
    Plant,
    bomb,
    evil_common_directory,
    filters,
    git_directory_in_tree,
    hooks,
    included_config,
    link_to_nothing,
    linked_objects,
    links_for_head_and_index,
    nested_repository,
    not_a_commit,
    pipes,
    programs_in_config,
    split_index,
    submodule_address,
)
from private_git_world import Inside, needs_bubblewrap

pytestmark = needs_bubblewrap
REFUSED = (bomb, git_directory_in_tree, submodule_address, link_to_nothing, linked_objects, not_a_commit)
ALONE = (pipes, links_for_head_and_index, split_index)  # they replace what others write
TOGETHER = tuple(plant for plant in PLANTS if plant not in (*REFUSED, *ALONE))
MOMENT_SECONDS = 20.0


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = make_world(tmp_path)
    commit_bait(world)
    (world.root / "secret").write_text(SECRET)
    return world


@pytest.fixture
def traps(world: World) -> Traps:
    return Traps(world)


def attempt_everything(inside: Inside) -> str:
    """Do what Ostler does after an attempt and before the next one; return the problem of the import."""
    (inside.worktree.path / "work.txt").write_text("done")
    problem = import_commits(inside.place, inside.worktree).problem
    commit_step(inside.worktree)
    inside.refresh()
    assert import_commits(inside.place, inside.worktree).problem == ""
    return problem


def check(world: World, traps: Traps, inside: Inside, plants: tuple[Plant, ...]) -> str:
    before = snapshot_of(world.project)
    main = git(world.project, "rev-parse", "main")
    for plant in plants:
        plant(inside, traps)
    traps.disarm()
    started = time.monotonic()
    problem = attempt_everything(inside)
    assert traps.fired() == set()
    assert time.monotonic() - started < MOMENT_SECONDS
    assert snapshot_of(world.project) == before
    assert "work.txt" in tree(world)
    assert git(world.project, "merge-base", main, BRANCH) == main
    assert git(world.path, "status", "--porcelain") in ("", "?? nested/")
    fsck = git(world.project, "-c", "core.fsmonitor=false", "fsck", "--strict", "--no-dangling", check=False)
    assert fsck == ""
    assert SECRET not in inside.sh("cat /run/ostler/git/HEAD /run/ostler/git/packed-refs; git log --all -p")
    assert inside.sh("git status --porcelain -b").splitlines()[0] == f"## {BRANCH}"
    return problem


def test_all_traps_together(world: World, traps: Traps):
    """Everything that does not make git refuse the commits, in one directory."""
    inside = Inside(world.prepare(), world.root / "private")
    assert check(world, traps, inside, TOGETHER) == ""


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(one, marks=() if one in (bomb, git_directory_in_tree, *ALONE) else pytest.mark.full)
        for one in PLANTS
    ],
    ids=lambda plant: plant.__name__,
)
def test_each_trap(world: World, traps: Traps, plant: Plant):
    """Broken and dangerous commits are refused with a reason, and the files are committed anyway."""
    inside = Inside(world.prepare(), world.root / "private")
    problem = check(world, traps, inside, (plant,))
    assert bool(problem) == (plant in REFUSED), problem


def test_plain_git_fires_them(world: World, traps: Traps):
    """The traps are real: an ordinary git outside of the sandbox that uses the directory starts them."""
    worktree = world.prepare()
    inside = Inside(worktree, world.root / "private")
    for plant in (hooks, programs_in_config, filters, included_config, nested_repository):
        plant(inside, traps)
    traps.disarm()
    objects = str(world.project / ".git" / "objects")
    plain = ("--git-dir", str(inside.place / "git"), "--work-tree", str(worktree.path))
    (inside.place / "git" / "objects" / "info").mkdir()
    (inside.place / "git" / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    for args in (["status"], ["diff"], ["add", "-A"], ["-c", "commit.gpgSign=false", "commit", "-m", "x"]):
        git(worktree.path, *plain, *args, check=False)
    git(worktree.path / "nested", "status", check=False)
    evil_common_directory(inside, traps)
    git(worktree.path, *plain, "status", check=False)
    fired = traps.fired()
    assert fired >= {"hook-pre-commit", "filter-clean", "external", "nested", "commondir"}
    assert {"fsmonitor", "included"} & fired
