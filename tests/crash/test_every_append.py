"""kill -9 before and after every write of a task's history: the end is always the same (B2, B3, B5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundaries import kill_at_boundaries
from oracle import check_all_done
from world import World

# The minimum number of times that each failpoint is reached; group commit may join records.
PLACES = {
    "journal.append": 8,
    "journal.appended": 8,
    "attempt.begin": 1,
    "attempt.begun": 1,
    "attempt.end": 1,
    "attempt.ended": 1,
    "checkpoint.commit": 1,
    "checkpoint.committed": 1,
    "file.write": 6,
    "file.rename": 6,
    "file.renamed": 6,
}


@pytest.mark.sampled(1)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("place", PLACES)
def test_a_kill_at_every_write_changes_nothing_in_the_end(tmp_path: Path, place: str) -> None:
    """The run is killed there, the next one finishes, and the result is that of an undisturbed run."""
    every = range(1, PLACES[place] + 1)
    kill_at_boundaries(
        lambda number: _dies(World(tmp_path / f"{number}"), f"{place}:kill:{number}"),
        PLACES[place],
        quick=every if place.startswith("journal.") else [every[-1]],
    )


def _dies(world: World, failpoint: str) -> bool:
    task = world.new()
    code = world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=failpoint).returncode
    assert code in (0, -9), failpoint
    world.ostler("run", "--all")
    check_all_done(world, [task])
    world.close()
    return code == -9
