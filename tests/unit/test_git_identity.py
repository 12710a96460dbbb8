from __future__ import annotations

from pathlib import Path

import pytest

from git_world import World, git, make_world
from ostler.git.identity import OSTLER, Identity, read_identity


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def test_the_repository_wins_over_the_user(world: World):
    """As in git, the repository's name has precedence over the global one."""
    git(world.root, "config", "--global", "user.name", "Global")
    assert read_identity(world.repository) == Identity("Una User", "una@example.org")


def test_the_global_configuration_is_read(world: World):
    """Most users set their name only there."""
    for key in ("name", "email"):
        git(world.project, "config", "--unset", f"user.{key}")
        git(world.root, "config", "--global", f"user.{key}", f"Glöbal {key}")
    assert read_identity(world.repository) == Identity("Glöbal name", "Glöbal email")


@pytest.mark.parametrize("missing", ["user.name", "user.email"])
def test_without_both_it_is_ostler(world: World, missing: str):
    """A name without an address, or the reverse, is not used."""
    git(world.project, "config", "--unset", missing)
    assert read_identity(world.repository) == OSTLER


def test_line_breaks_and_brackets_do_not_reach_the_commit(world: World):
    """A name cannot forge a header of the commit."""
    git(world.project, "config", "user.name", "Una\nauthor <x> y")
    assert read_identity(world.repository).name == "Una author x y"
    git(world.project, "config", "user.name", "<>")
    assert read_identity(world.repository) == OSTLER
