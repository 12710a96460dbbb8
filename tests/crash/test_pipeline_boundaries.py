"""kill -9 at every boundary of a pipeline with a parallel group and a review that sends back twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundaries import FULL, kill_at_boundaries
from document_world import DocumentWorld, writing
from oracle import ENDS

# The minimum number of times that each failpoint is reached; group commit may join records.
PLACES = {"journal.append": 12, "journal.appended": 12, "document.write": 13, "document.written": 13}
STRIDE = 4  # a lane takes every fourth boundary, so that several cores share them
LANES = range(STRIDE) if FULL else range(1)
PIPELINE = """
steps:
  - research
  - parallel:
      - {id: post, skill: copy}
      - {id: mail, skill: copy}
      - {id: poster, skill: copy}
      - {id: spot, skill: copy}
  - review: editor
  - {id: check, skill: research, goal: Check the copy}
  - summary
"""
DRAFTS = {"research": 1, "post": 3, "mail": 3, "poster": 3, "spot": 3, "check": 1, "summary": 1}


@pytest.mark.full
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("place", PLACES)
def test_a_kill_anywhere_leaves_the_same_documents(tmp_path: Path, place: str, lane: int) -> None:
    """The run is killed there, the next one ends it: every document is that of an undisturbed run."""
    kill_at_boundaries(
        lambda number: _dies(tmp_path / f"{number}", f"{place}:kill:{number}"), PLACES[place], lane, STRIDE
    )


def _dies(directory: Path, failpoint: str) -> bool:
    world = DocumentWorld(directory)
    world.pipeline("launch", PIPELINE)
    with writing(world, rejects=2):
        world.ostler("pipeline", "run", "launch", "--later")
        code = world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=failpoint).returncode
        assert code in (0, -9), failpoint
        world.ostler("run", "--all")
    _check(world, failpoint)
    world.close()
    return code == -9


def _check(world: DocumentWorld, failpoint: str) -> None:
    world.check_store()
    tasks = world.json("status")["tasks"]
    assert {task["status"] for task in tasks} == {"completed"}, failpoint
    assert len(tasks) == len(DRAFTS)
    for task in tasks:
        text = (world.root / task["output_path"]).read_text()
        assert text.endswith(f"draft {DRAFTS[task['step']]}."), (failpoint, task["step"], text)
        ended = [event["type"] for event in world.events(task["id"]) if event["type"] in ENDS]
        assert ended == ["task_completed"], failpoint
    assert not list((world.root / "outputs").rglob(".*.tmp")), failpoint
