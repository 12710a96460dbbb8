"""What control groups say about our memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.process import cgroup
from ostler.process.cgroup import Group, groups_of

ROOT = "/sys/fs/cgroup"
MB = 2**20


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0::/", [ROOT]),
        ("0::/user.slice/a:b.scope", [f"{ROOT}/user.slice/a:b.scope", f"{ROOT}/user.slice", ROOT]),
        ("4:memory:/docker/abc", [f"{ROOT}/memory/docker/abc", f"{ROOT}/memory/docker", f"{ROOT}/memory"]),
        ("7:cpu,memory:/", [f"{ROOT}/memory"]),
        ("8:pids:/x", []),
        ("1:name=systemd:/init.scope", []),
    ],
)
def test_a_group_and_those_around_it_are_found(line: str, expected: list[str]) -> None:
    """Of version 1 only the memory controller counts; the innermost comes first."""
    groups = groups_of(line)
    assert [str(group.place) for group in groups] == expected
    assert {group.kills for group in groups} <= {
        "memory.oom_control" if "memory" in line else "memory.events"
    }


def write_group(place: Path, limit: str, used_mb: int, cached_mb: int = 0) -> Group:
    place.mkdir(parents=True)
    (place / "memory.max").write_text(f"{limit}\n")
    (place / "memory.current").write_text(f"{used_mb * MB}\n")
    (place / "memory.stat").write_text(f"anon 5\ninactive_file {cached_mb * MB}\nactive_file 7\n")
    return Group(place)


@pytest.mark.parametrize(
    ("limit", "used_mb", "cached_mb", "expected"),
    [
        (str(1000 * MB), 400, 0, 600),
        (str(1000 * MB), 900, 300, 400),  # files that were only read make way
        (str(1000 * MB), 1100, 0, 0),
        (str(1000 * MB), 10, 30, 1000),
        ("max", 400, 0, None),
        (str(2**63 - 4096), 400, 0, None),  # how version 1 says that there is no limit
    ],
)
def test_room_is_the_limit_less_what_is_taken(
    limit: str,
    used_mb: int,
    cached_mb: int,
    expected: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No limit is no figure, and there is never less than nothing."""
    group = write_group(tmp_path / "group", limit, used_mb, cached_mb)
    monkeypatch.setattr(cgroup, "own_groups", lambda: [group])
    assert cgroup.room_in_groups_mb() == expected


def test_the_narrowest_group_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit may stand on a group around ours; one whose files are missing says nothing."""
    inner = write_group(tmp_path / "outer/inner", "max", 10)
    outer = write_group(tmp_path / "outer2", str(500 * MB), 100)
    monkeypatch.setattr(cgroup, "own_groups", lambda: [inner, outer, Group(tmp_path / "gone")])
    assert cgroup.room_in_groups_mb() == 400


def test_this_machine_can_be_asked() -> None:
    """The real groups give a figure or none, without an error."""
    room = cgroup.room_in_groups_mb()
    assert room is None or room >= 0
