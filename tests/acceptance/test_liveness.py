"""Silent agents, through the whole program: working, asking, or hung."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from world import World

SETTINGS = """
[run]
executor = "mine"
idle_timeout_seconds = 3
[retry]
max_retries = {repeats}
[executors.mine]
type = "command"
command = "sh"
args = ["-c", "{script}"]
"""


@pytest.fixture
def world(tmp_path: Path) -> Generator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def agent(world: World, script: str, repeats: int = 0) -> str:
    (world.root / "ostler.toml").write_text(SETTINGS.format(script=script, repeats=repeats))
    return world.new("Add a greeting", "--weight", "trivial")


def test_an_agent_that_asks_blocks_its_task(world: World) -> None:
    """It is stopped once, not retried, and the person gets its question."""
    task = agent(world, "printf 'Continue? (y/n) '; sleep 300", repeats=2)
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"], len(shown["attempts"])) == ("blocked", "NEEDS_INPUT", 1)
    assert "(Continue? (y/n))" in shown["message"]


@pytest.mark.full
def test_an_agent_that_writes_files_in_silence_is_left_alone(world: World) -> None:
    """Twice its idle timeout without output, and its work is committed."""
    loop = "n=0; while [ $n -lt 60 ]; do n=$((n+1)); echo $n > greeting; sleep 0.1; done; echo done"
    task = agent(world, loop)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


@pytest.mark.full
def test_a_hung_agent_is_stopped_and_its_work_is_there_for_the_next_attempt(world: World) -> None:
    """Its files are in the worktree when it is started again."""
    task = agent(
        world, "if [ -e half ]; then echo rest >> half; echo done; else echo x > half; sleep 300; fi", 1
    )
    world.ostler("run", task)
    shown = world.show(task)
    assert [attempt["code"] for attempt in shown["attempts"]] == ["IDLE_TIMEOUT", None]
    assert world.git("show", f"ostler/{task}:half") == "x\nrest\n"
    assert "agent_idle" in {event["type"] for event in world.events(task)}
