"""The words of priorities: every way to name one, and the pool that its agent runs in."""

from __future__ import annotations

import pytest

from ostler.model.task import PRIORITY_NAMES
from world import World

# The niceness is set when the program has started.
NICE = """#!/bin/sh
for try in $(seq 100); do [ "$(nice)" = 0 ] || break; sleep 0.05; done
nice > nice.txt
echo "<phase_complete>true</phase_complete>"
"""


def test_a_background_task_runs_in_the_background_pool(world: World) -> None:
    """Its agent has the niceness of the pool, and `show` names both."""
    agent = world.agents / "nice.sh"
    agent.write_text(NICE)
    agent.chmod(0o755)
    (world.root / "ostler.toml").write_text(
        f'[run]\nexecutor = "nice"\n[executors.nice]\ntype = "command"\ncommand = "{agent}"\n'
    )
    task = world.new("Tidy up", "--priority", "background")
    shown = world.show(task)
    assert (shown["priority"], shown["pool"]) == ("P4", "background")
    assert "priority P4, pool background" in world.ostler("show", task).stdout
    world.ostler("run", task)
    assert world.git("show", f"ostler/{task}:nice.txt").strip() == "15"


@pytest.mark.parametrize(
    ("word", "priority"), [("high", "P0"), ("medium", "P2"), ("low", "P3"), ("P4", "P4")]
)
def test_a_word_is_accepted_by_new_edit_and_files(world: World, word: str, priority: str) -> None:
    new, edited = world.new("One", "--priority", word), world.new("Two", "--priority", "P1")
    world.ostler("edit", edited, "--priority", word)
    (world.root / "task.md").write_text(f"---\ntitle: Three\npriority: {word}\n---\nDo it.\n")
    read = world.ostler("new", "-f", "task.md").stdout.strip()
    assert {world.show(task)["priority"] for task in (new, edited, read)} == {priority}


def test_an_unknown_word_is_refused_with_the_known_ones(world: World) -> None:
    (world.root / "task.md").write_text("---\ntitle: Three\npriority: soon\n---\nDo it.\n")
    for args in (("new", "X", "--priority", "soon"), ("new", "-f", "task.md")):
        refused = world.ostler(*args, code=2).stderr
        assert all(name in refused for name in PRIORITY_NAMES)
