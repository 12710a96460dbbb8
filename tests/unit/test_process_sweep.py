"""Ending the processes that a crash left, by their marker."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import Callable

import pytest

from ostler.process import sweep
from ostler.process.sweep import find_marked_processes, kill_marked_processes
from world import wait_until


@pytest.fixture
def sleepers():
    started: list[subprocess.Popen[bytes]] = []

    def start(marker: str | None, argv: tuple[str, ...] = ("sleep", "60")) -> subprocess.Popen[bytes]:
        env = {"PATH": os.environ["PATH"], **({"OSTLER_ATTEMPT": marker} if marker else {})}
        started.append(subprocess.Popen(argv, env=env, start_new_session=True, stdout=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_only_matching_markers_are_ended(sleepers) -> None:
    """Those of one store are ended; those of another store and those without a marker continue."""
    store = uuid.uuid4().hex
    ours, other, plain = sleepers(f"{store}:t1:1"), sleepers("other:t1:1"), sleepers(None)
    assert kill_marked_processes(lambda marker: marker.startswith(f"{store}:")) == 1
    assert ours.wait(20) == -9
    assert (other.poll(), plain.poll()) == (None, None)


def test_children_that_inherited_the_marker_are_ended(sleepers) -> None:
    """The marker is inherited, so a whole tree is found, with processes that ignore TERM."""
    store = uuid.uuid4().hex
    script = "trap '' TERM; setsid sleep 60 & echo $!; wait"
    shell = sleepers(f"{store}:t1:1", ("sh", "-c", script))
    shell.stdout.readline()
    assert kill_marked_processes(f"{store}:t1:1".__eq__) >= 2
    assert shell.wait(20) == -9
    assert kill_marked_processes(f"{store}:t1:1".__eq__) == 0


def test_many_tasks_share_two_passes(sleepers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pass reads all processes of the machine; one that began before a request does not count for it."""
    store, passes = uuid.uuid4().hex, list[int]()
    left = [sleepers(f"{store}:t{number}:1") for number in range(3)]

    def kill(matches: Callable[[str], bool]) -> int:
        passes.append(kill_marked_processes(matches))
        return passes[-1]

    async def sweep_all() -> None:
        shared = sweep.SharedSweep()
        await asyncio.gather(*(shared.kill([f"{store}:t{number % 3}:1"]) for number in range(50)))
        assert [process.wait(20) for process in left] == [-9] * 3
        left.append(sleepers(f"{store}:late:1"))
        await shared.kill([f"{store}:late:1"])

    monkeypatch.setattr(sweep, "kill_marked_processes", kill)
    asyncio.run(sweep_all())
    assert left[-1].wait(20) == -9
    assert len(passes) <= 3 and sum(passes) == 4


def test_marker_of_a_name_that_only_ends_alike_is_not_ours(sleepers) -> None:
    """Only the variable OSTLER_ATTEMPT counts, not one that contains its name or its value."""
    token = uuid.uuid4().hex
    env = {"PATH": os.environ["PATH"], "NOT_OSTLER_ATTEMPT": token, "OTHER": f"OSTLER_ATTEMPT={token}"}
    with subprocess.Popen(["sleep", "60"], env=env) as process:
        try:
            assert kill_marked_processes(token.__eq__) == 0
            assert process.poll() is None
        finally:
            process.kill()


def test_a_process_and_its_child_have_the_marker() -> None:
    """Other and ended processes are not listed."""
    marker = f"store:task-{os.getpid()}:1"
    script = "import subprocess, sys; subprocess.run(['cat'])"
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, env={**os.environ, "OSTLER_ATTEMPT": marker}
    )
    try:
        wait_until(lambda: len(find_marked_processes().get(marker, [])) == 2, 30, "they are not found")
        assert child.pid in find_marked_processes()[marker]
    finally:
        child.communicate(timeout=30)
    assert marker not in find_marked_processes()
