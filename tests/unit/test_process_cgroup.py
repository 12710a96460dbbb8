"""Memory limits from control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.executors.exit_status import classify_exit
from ostler.model.command import Exit
from ostler.process import cgroup
from ostler.process.cgroup import MemoryGroup, parse_cgroup_line

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
    """Of version 1 only the memory controller counts; the innermost group is first."""
    groups = parse_cgroup_line(line)
    assert [str(group.path) for group in groups] == expected
    assert {group.kills for group in groups} <= {
        "memory.oom_control" if "memory" in line else "memory.events"
    }


def write_group(place: Path, limit: str, used_mb: int, cached_mb: int = 0) -> MemoryGroup:
    place.mkdir(parents=True)
    (place / "memory.max").write_text(f"{limit}\n")
    (place / "memory.current").write_text(f"{used_mb * MB}\n")
    (place / "memory.stat").write_text(f"anon 5\ninactive_file {cached_mb * MB}\nactive_file 7\n")
    return MemoryGroup(place)


@pytest.mark.parametrize(
    ("limit", "used_mb", "cached_mb", "expected"),
    [
        (str(1000 * MB), 400, 0, 600),
        (str(1000 * MB), 900, 300, 400),  # cached files can be reclaimed
        (str(1000 * MB), 1100, 0, 0),
        (str(1000 * MB), 10, 30, 1000),
        ("max", 400, 0, None),
        (str(2**63 - 4096), 400, 0, None),  # the value of version 1 for no limit
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
    """Without a limit the result is None, and the room is never below zero."""
    group = write_group(tmp_path / "group", limit, used_mb, cached_mb)
    monkeypatch.setattr(cgroup, "list_own_groups", lambda: [group])
    assert cgroup.available_memory_mb() == expected


def test_the_narrowest_group_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit may be set on a parent group; a group with missing files is skipped."""
    inner = write_group(tmp_path / "outer/inner", "max", 10)
    outer = write_group(tmp_path / "outer2", str(500 * MB), 100)
    monkeypatch.setattr(cgroup, "list_own_groups", lambda: [inner, outer, MemoryGroup(tmp_path / "gone")])
    assert cgroup.available_memory_mb() == 400


def test_this_machine_can_be_asked() -> None:
    """The real groups give a number or None, without an error."""
    room = cgroup.available_memory_mb()
    assert room is None or room >= 0


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A counter file of the test."""
    path = tmp_path / "memory.events"
    path.write_text("low 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 9\n")
    monkeypatch.setattr(cgroup, "_find_counter", lambda: path)
    return path


def test_more_kills_than_before_are_evidence(counter: Path) -> None:
    """Only oom_kill counts, and only if it increases."""
    before = cgroup.count_oom_kills()
    assert before == 2
    assert not cgroup.was_oom_killed_since(before)
    counter.write_text("oom 4\noom_kill 3\n")
    assert cgroup.was_oom_killed_since(before)


@pytest.mark.parametrize("content", ["", "oom_kill_disable 0\nunder_oom 0\n", "oom_kill many\n"])
def test_an_unreadable_counter_is_no_evidence(counter: Path, content: str) -> None:
    """Without a number before and after, the kill is not attributed to memory."""
    counter.write_text(content)
    assert cgroup.count_oom_kills() is None
    assert not cgroup.was_oom_killed_since(2)
    counter.unlink()
    assert cgroup.count_oom_kills() is None
    assert not cgroup.was_oom_killed_since(None)


@pytest.mark.parametrize(
    ("status", "oom_killed", "code"),
    [
        (-9, True, Code.AGENT_OOM),
        (137, True, Code.AGENT_OOM),  # the exit status of a shell around a killed agent
        (-9, False, Code.AGENT_KILLED),
        (137, False, Code.AGENT_KILLED),
        (-15, True, Code.AGENT_KILLED),
        (-11, True, Code.AGENT_KILLED),
        (1, True, Code.AGENT_FAILED),
    ],
)
def test_a_death_is_named_by_its_evidence(status: int, oom_killed: bool, code: Code) -> None:
    """Only SIGKILL together with a memory kill by the kernel in the meantime is AGENT_OOM."""
    ending = classify_exit(Exit(status, 3.0, oom_killed=oom_killed, peak_memory_mb=700), "claude")
    assert ending.code is code
    assert ("after using 700 MB" in ending.message) is (code is Code.AGENT_OOM)


def test_the_limit_of_a_pool_is_named_without_a_sample() -> None:
    """The last sample before the kill may be far below the limit."""
    exit = Exit(-9, 3.0, oom_killed=True, peak_memory_mb=8, reason="memory_mb of its pool is 100")
    message = "claude was killed by the kernel at the limit of its memory: memory_mb of its pool is 100"
    assert classify_exit(exit, "claude").message == message


def test_a_heap_that_is_used_up_is_want_of_memory() -> None:
    """Node aborts with this text; a program that only prints it and exits has failed for another reason."""
    printed = (
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n 1: 0xb8 node\n"
    )
    aborted = classify_exit(Exit(134, 3.0, stderr_tail=printed), "gemini")
    assert aborted.code is Code.AGENT_OOM
    assert "NODE_OPTIONS" in aborted.message
    assert classify_exit(Exit(1, 3.0, stderr_tail=printed), "gemini").code is Code.AGENT_FAILED
