"""Mount points in directories that an agent can write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.sandbox.mount_points import prepare_writable
from ostler.sandbox.mounts import Mount

PLANTS = {
    "nothing": lambda home, trap: None,
    "link": lambda home, trap: (home / ".local").symlink_to(trap),
    "inner link": lambda home, trap: (home / ".local").mkdir() or (home / ".local/bin").symlink_to(trap),
    "dangling": lambda home, trap: (home / ".local").symlink_to("/nowhere"),
    "loop": lambda home, trap: (home / ".local").symlink_to(".local"),
    "file": lambda home, trap: (home / ".local").write_text("x"),
    "inner file": lambda home, trap: (home / ".local").mkdir() or (home / ".local/bin").write_text("x"),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_all_is_as_before(tmp_path: Path, plant: Callable[[Path, Path], None]) -> None:
    """The mount point is a directory below the home; links and files are there again afterwards."""
    home, trap, tool = (tmp_path / name for name in ("home", "trap", "tool"))
    for one in (home, trap, tool):
        one.mkdir()
    plant(home, trap)
    before = list_all(home)
    mounts = (Mount(home, Path("/home/me"), writable=True), Mount(tool, Path("/home/me/.local/bin")))
    with prepare_writable(mounts):
        place = home / ".local" / "bin"
        assert place.is_dir()
        assert place.resolve() == place
    assert list_all(home) == before
    assert list_all(trap) == []


def list_all(folder: Path) -> list[tuple[str, str, int]]:
    """Return each path with the target of a link or the content of a file, and its time."""
    found: list[tuple[str, str, int]] = []
    for one in sorted(folder.rglob("*")):
        content = str(one.readlink()) if one.is_symlink() else "" if one.is_dir() else one.read_text()
        modified = 0 if one.is_dir() and not one.is_symlink() else one.lstat().st_mtime_ns
        found.append((str(one.relative_to(folder)), content, modified))
    return found


def test_a_directory_that_was_moved_is_not_followed(tmp_path: Path) -> None:
    """A program can put a link in place of the directory around a mount point."""
    home, trap, tool = (tmp_path / name for name in ("home", "trap", "tool"))
    for one in (home, trap / "bin", tool):
        one.mkdir(parents=True)
    mounts = (Mount(home, Path("/home/me"), writable=True), Mount(tool, Path("/home/me/.local/bin")))
    with prepare_writable(mounts):
        (home / ".local").rename(home / "moved")
        (home / ".local").symlink_to(trap)
    assert (trap / "bin").is_dir()


def test_read_only_mounts_are_left_alone(tmp_path: Path) -> None:
    """A mount point in a directory of the user, which is mounted read-only, must exist already."""
    home, tools = tmp_path / "home", tmp_path / "tools"
    home.mkdir()
    tools.mkdir()
    mounts = (
        Mount(home, Path("/home/me"), writable=True),
        Mount(tools, Path("/home/me/tools")),
        Mount(tools, Path("/home/me/tools/inner")),
    )
    with prepare_writable(mounts):
        assert (home / "tools").is_dir()
        assert not (tools / "inner").exists()
