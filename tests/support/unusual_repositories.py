"""Repositories that are not a plain clone."""

from __future__ import annotations

from pathlib import Path

from git_world import World, git


def make_sha256(world: World, place: Path) -> Path:
    git(world.root, "init", "-q", "-b", "main", "--object-format=sha256", str(place))
    git(place, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
    return place


def make_unborn(world: World, place: Path) -> Path:
    git(world.root, "init", "-q", "-b", "main", str(place))
    return place


def make_detached(world: World, place: Path) -> Path:
    git(world.root, "clone", "-q", str(world.project), str(place))
    git(place, "checkout", "-q", "--detach")
    return place


def make_linked(world: World, place: Path) -> Path:
    git(world.project, "worktree", "add", "-q", str(place), "-b", "linked")
    return place


def make_submodule(world: World, place: Path) -> Path:
    git(world.root, "init", "-q", str(place))
    allow = ("-c", "protocol.file.allow=always")
    git(place, *allow, "submodule", "add", "-q", str(world.project), "inner")
    return place / "inner"


def make_borrowed(world: World, place: Path) -> Path:
    middle = str(place) + "-middle"
    git(world.root, "clone", "-q", "--shared", str(world.project), middle)
    git(world.root, "clone", "-q", "--shared", middle, str(place))
    return place


def make_partial(world: World, place: Path) -> Path:
    git(world.project, "config", "uploadpack.allowFilter", "true")
    git(world.root, "clone", "-q", "--filter=blob:none", f"file://{world.project}", str(place))
    return place


def make_partial_sparse(world: World, place: Path) -> Path:
    """A file of the last commit is neither checked out nor on this machine."""
    world.commit({"sub/deep/c.txt": "x\n", "other/o.txt": "only at the remote\n"})
    git(world.project, "config", "uploadpack.allowFilter", "true")
    options = ("--filter=blob:none", "--sparse")
    git(world.root, "clone", "-q", *options, f"file://{world.project}", str(place))
    git(place, "sparse-checkout", "set", "sub")
    return place


def make_sparse(world: World, place: Path) -> Path:
    """Shallow too."""
    world.commit({"sub/deep/c.txt": "x\n"})
    git(world.root, "clone", "-q", "--depth=1", f"file://{world.project}", str(place))
    git(place, "sparse-checkout", "set", "sub")
    return place


REPOSITORIES = (
    *(make_sha256, make_detached, make_linked, make_submodule, make_borrowed, make_partial),
    *(make_sparse, make_partial_sparse),
)
