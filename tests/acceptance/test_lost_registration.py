"""A task ends although its work cannot be kept: the agent removed files that git needs (T17)."""

from __future__ import annotations

import pytest

from world import World

REMOVE = 'rm -rf "$OSTLER_PROJECT/.git/worktrees/$OSTLER_TASK"'
DAMAGES = [
    REMOVE,
    f"{REMOVE}; rm -f .git",
    'git rev-parse --git-dir; echo "gitdir: /nowhere" > .git',
    'echo broken > "$OSTLER_PROJECT/.git/worktrees/$OSTLER_TASK/HEAD"',
    'rm -rf "$OSTLER_PROJECT/.git/worktrees/$OSTLER_TASK" "$PWD"',
]


@pytest.mark.parametrize("behaviour", [{"fault": "crash"}, {}], ids=["crashes", "answers"])
@pytest.mark.sampled(2)
@pytest.mark.parametrize("cleanup", ["false", "true"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_task_ends_once(world: World, damage: str, cleanup: str, behaviour: dict[str, object]) -> None:
    """Its end is recorded once, and no step is repeated without end."""
    world.environ |= {"OSTLER_RETRY__MAX_RETRIES": "0", "OSTLER_GIT__CLEANUP_ON_FAIL": cleanup}
    world.behave(edits={}, files={"half.txt": "half\n"}, script=damage, **behaviour)
    task = world.new()
    world.ostler("run", task, code=None)
    shown = world.show(task)
    assert shown["status"] in ("failed", "completed")  # some damage is repaired
    if damage == REMOVE:
        assert (shown["status"], "not committed" in shown["message"]) == ("failed", True)
    events = [line["type"] for line in world.events(task)]
    assert events.count("task_failed") + events.count("task_completed") == 1
    assert events.count("step_failed") <= 1
    assert events.count("workspace_released") <= 1
