"""Where control groups are created: versions 1 and 2, delegated trees, and none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.sandbox.box.box import Limits
from ostler.sandbox.limits.cgroup import prepare_cgroup
from ostler.sandbox.limits.places import Place, list_places

MB = 2**20
LIMITS = Limits(processes=50, memory_mb=100)


def make_group(directory: Path, controllers: str | None = None) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cgroup.procs").touch()
    if controllers is not None:
        (directory / "cgroup.controllers").write_text("cpu memory pids")
        (directory / "cgroup.subtree_control").write_text(controllers)
    return directory


def test_version_1_uses_the_own_group_of_each_controller(tmp_path: Path) -> None:
    """The limits of the groups around it still apply."""
    own = [make_group(tmp_path / "pids" / "a"), make_group(tmp_path / "memory" / "b")]
    lines = ["9:name=systemd:/x", "8:pids:/a", "5:devices:/", "4:memory:/b", "0::/"]
    found = list_places(lines, tmp_path)
    assert [one.directory for one in found] == own
    assert [one.controllers for one in found] == [{"pids"}, {"memory"}]


def test_version_2_uses_the_group_around_the_own_one(tmp_path: Path) -> None:
    """A group with processes gives its groups no controllers; app.slice of a user does."""
    make_group(tmp_path, "cpu memory pids")
    app = make_group(tmp_path / "user" / "app.slice", "cpu memory pids")
    make_group(app / "terminal.scope", "")
    (found,) = list_places(["0::/user/app.slice/terminal.scope"], tmp_path)
    assert found == Place(app, frozenset({"pids", "memory"}), unified=True)
    assert found.list_limits(LIMITS) == {"pids.max": 50, "memory.max": 189 * MB, "memory.swap.max": 0}


@pytest.mark.parametrize(
    "line", ["0::/../../outside", "8:pids:/../outside", "5:devices:/", "0::/no-controllers"]
)
def test_no_place_without_a_controller_or_outside_the_namespace(line: str, tmp_path: Path) -> None:
    """The result is empty, and resource limits are used instead."""
    make_group(tmp_path, "")
    make_group(tmp_path / "no-controllers", "")
    assert list_places([line], tmp_path) == []


def test_a_controller_of_version_1_is_not_used_twice(tmp_path: Path) -> None:
    """A system with both versions has each controller in one of them."""
    make_group(tmp_path / "unified", "memory pids")
    make_group(tmp_path / "memory")
    make_group(tmp_path / "pids")
    found = list_places(["8:pids:/", "4:memory:/", "0::/"], tmp_path)
    assert [one.unified for one in found] == [False, False]


def test_a_group_that_cannot_be_limited_is_not_kept(tmp_path: Path) -> None:
    """A directory where mkdir fails gives no group."""
    place = Place(tmp_path / "missing", frozenset({"pids"}), unified=True)
    assert prepare_cgroup("T1-1", LIMITS, (place,)) is None


def test_without_a_memory_limit_only_processes_are_limited(tmp_path: Path) -> None:
    """A place for memory only gets no group then."""
    memory = Place(tmp_path, frozenset({"memory"}), unified=False)
    assert memory.list_limits(Limits()) == {}
    assert prepare_cgroup("T1-1", Limits(), (memory,)) is None
