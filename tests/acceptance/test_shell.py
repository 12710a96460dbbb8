"""A person works in a task's workspace, and no run claims the task meanwhile."""

from __future__ import annotations

from pathlib import Path

from world import World, wait_until


def blocked_task(world: World) -> str:
    world.behave(fault="blocked")
    task = world.new("Paint")
    world.ostler("run", task, code=4)
    world.behave()
    return task


def test_a_shell_opens_in_the_worktree_and_a_person_may_decide_there(world: World) -> None:
    """OSTLER_TASK names the task; what is changed there is part of the work."""
    task = blocked_task(world)
    probe = "pwd > where; echo $OSTLER_TASK > name; echo hello > by-hand.txt"
    world.ostler("shell", task, "sh", "-c", probe)
    tree = Path(world.show(task)["worktree"])
    assert (tree / "where").read_text().strip() == str(tree)
    assert (tree / "name").read_text().strip() == task
    assert world.ostler("shell", task, "sh", "-c", "exit 7", code=7).returncode == 7
    assert world.ostler("status", OSTLER_TASK=task, OSTLER_SHELL=task).returncode == 0
    world.ostler("resume", task, OSTLER_TASK=task, OSTLER_SHELL=task)
    world.ostler("run", task)
    assert "by-hand.txt" in world.git("ls-tree", "--name-only", f"ostler/{task}")


def test_a_task_in_a_shell_is_not_claimed(world: World) -> None:
    """The run waits for the lock; a second shell is refused."""
    task = blocked_task(world)
    world.ostler("resume", task, "-m", "swordfish")
    over = world.root.parent / "over"
    shell = world.start(
        "shell", task, "sh", "-c", f"touch {over}.open; until test -e {over}; do sleep 0.05; done"
    )
    wait_until(lambda: Path(f"{over}.open").exists(), 30, "the shell did not open")
    printed = world.ostler("shell", task, "true", code=2)
    assert "is in use" in printed.stderr
    run = world.start("run", task)
    wait_until(lambda: run.poll() is None, 5, "the run ended")
    assert len(world.started()) == 1
    over.touch()
    assert shell.wait(30) == 0
    assert run.wait(60) == 0
    assert len(world.started()) == 2


def test_attach_starts_the_agents_own_program_on_the_session(world: World) -> None:
    """With the session of the last attempt, in the worktree."""
    task = blocked_task(world)
    session = world.show(task)["attempts"][-1]["session_id"]
    program = world.agents / "mine"
    program.write_text('#!/bin/sh\necho "$@" > "$OUT"; pwd >> "$OUT"\n')
    program.chmod(0o755)
    out = world.root.parent / "out"
    printed = world.ostler("attach", task, OSTLER_CLAUDE_PATH=str(program), OUT=str(out))
    assert out.read_text().split() == ["--resume", session, world.show(task)["worktree"]]
    assert f"--resume {session}" in printed.stderr


def test_a_task_without_a_worktree_or_a_session_is_refused(world: World) -> None:
    """Exit 2, with the command that makes one."""
    task = world.new("Paint")
    assert "has no worktree" in world.ostler("shell", task, "true", code=2).stderr
    assert f"ostler run {task}" in world.ostler("attach", task, code=2).stderr


def test_changes_at_a_gate_are_not_lost(world: World) -> None:
    """An approval is about the commit: the changes stay in the worktree; a rejection includes them."""
    world.environ["OSTLER_GATES__PHASES"] = '{"implement": "human"}'
    approved, rejected = world.new("Paint"), world.new("Wash")
    world.ostler("run", "--all", code=4)
    for task in (approved, rejected):
        printed = world.ostler("shell", task, "sh", "-c", "echo hello > by-hand.txt")
        assert "an approval does not include them" in printed.stderr
    world.ostler("approve", approved)
    world.ostler("reject", rejected, "-m", "see by-hand.txt")
    world.ostler("run", "--all", code=4)
    shown = world.show(approved)
    assert (shown["status"], Path(shown["worktree"], "by-hand.txt").read_text()) == ("completed", "hello\n")
    assert "uncommitted work" in world.ostler("cleanup").stderr
    assert "by-hand.txt" in world.json("diff", rejected)["patch"]
