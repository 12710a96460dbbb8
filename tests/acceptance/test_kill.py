"""ostler ps and ostler kill: attempts of a run in another process, and what a dead run left."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ostler.files.layout import Layout
from ostler.files.lock import try_lock
from ostler.model.ids import TaskId
from ostler.project.project import Project
from world import INTERRUPT, World, end, wait_until

HANGS = {"fault": "a1_hangs"}


def attempts(world: World) -> list[dict[str, object]]:
    return world.json("ps")["attempts"]


def wait_for_attempt(world: World, number: int) -> None:
    wait_until(lambda: len(world.started()) == number, 30, "the agent did not start")
    wait_until(lambda: [one["number"] for one in attempts(world) if one["pid"]] == [number], 30, "not listed")


@contextmanager
def marked(world: World, task: str, number: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process with the marker of an attempt, as one that a killed run left."""
    with Project.open(world.root, world.environ) as project:
        marker = f"{project.journal.store_id}:{task}:{number}"
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, "OSTLER_ATTEMPT": marker})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_kill_ends_one_attempt_and_the_task_goes_on(world: World) -> None:
    """The attempt is recorded with its code and the person; the retry completes the task."""
    world.behave(plan=[HANGS, {}])
    task = world.new()
    run = world.start("run", task)
    wait_for_attempt(world, 1)
    (listed,) = attempts(world)
    assert (listed["id"], listed["phase"], listed["executor"]) == (f"{task}:1", "implement", "claude")
    assert f"{task}:1" in world.ostler("ps").stdout
    assert world.json("kill", task[:6])["attempts"] == [f"{task}:1"]
    assert run.wait(30) == 0
    killed, done = world.show(task)["attempts"]
    assert (killed["status"], killed["code"]) == ("failed", "AGENT_KILLED")
    assert killed["message"].startswith("killed by ") and done["status"] == "succeeded"
    (decision,) = [one for one in world.events(task) if one["type"] == "decision_recorded"]
    assert (decision["verb"], decision["attempt"]) == ("kill", 1)
    assert "Nothing runs" in world.ostler("ps").stdout and not world.survivors()


def test_a_kill_without_a_retry_fails_the_task_and_does_not_count_towards_quarantine(world: World) -> None:
    """--now does not wait for an agent that ignores SIGTERM."""
    world.behave(fault="a2_ignores_term")
    task = world.new()
    run = world.start("run", task, OSTLER_RETRY__MAX_RETRIES="0", OSTLER_RUN__GRACE_SECONDS="600")
    wait_for_attempt(world, 1)
    world.ostler("kill", f"{task}:1", "--now")
    assert run.wait(30) == 1
    (failed,) = [one for one in world.events(task) if one["type"] == "task_failed"]
    assert (failed["code"], failed["counts"]) == ("AGENT_KILLED", False)


@pytest.mark.full
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "pass either attempts or --orphans"),
        (("--orphans", "x"), "pass either attempts or --orphans"),
        (("x", "--dry-run"), "--dry-run needs --orphans"),
        (("nope",), "no task nope"),
        (("",), "no task with an empty id"),
        (("add:x",), '"add:x" is not an attempt'),
        (("add:0",), '"add:0" is not an attempt'),
        (("add:1:2",), '"add:1:2" is not an attempt'),
        ((":1",), '":1" is not an attempt'),
        (("add:7",), "attempt 7 of add-a-greeting"),
        (("add",), "runs no attempts"),
    ],
)
def test_a_wrong_attempt_is_refused(world: World, arguments: tuple[str, ...], message: str) -> None:
    """One sentence and exit 2; nothing is recorded."""
    task = world.new()
    assert message in world.ostler("kill", *arguments, code=2).stderr
    assert [one["type"] for one in world.events(task)] == ["task_created"]


def test_orphans_are_listed_and_ended(world: World) -> None:
    """A dry run ends nothing."""
    task = world.new()
    with marked(world, task, "1") as orphan:
        (listed,) = world.json("ps", "--orphans")["orphans"]
        assert (listed["attempt"], listed["pids"]) == (1, [orphan.pid])
        assert f"{task}:1" in world.ostler("kill", "--orphans", "--dry-run").stdout
        assert orphan.poll() is None
        world.ostler("kill", "--orphans")
        assert orphan.wait(10) == -15
    assert world.json("kill", "--orphans")["orphans"] == []


def test_a_session_that_is_in_use_is_no_orphan(world: World) -> None:
    """Its agent is listed; one whose command is gone is an orphan; the check of a model is left alone."""
    world.behave(plan=[HANGS])
    run = world.start("agent", "spawn", "-p", "Go")
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    (listed,) = world.json("ps")["others"]
    session = world.started()[0]["session"]
    assert (listed["task"], listed["kind"]) == (session, "session")
    assert world.json("kill", "--orphans")["orphans"] == [] and run.poll() is None
    assert end(run, INTERRUPT) == 130
    with marked(world, session, "1") as orphan, marked(world, "0f1e2d3c-0000-4000-8000-000000000000", "1"):
        (listed,) = world.json("kill", "--orphans")["orphans"]
        assert (listed["pids"], listed["reason"]) == ([orphan.pid], "no process uses its session")
        assert orphan.wait(10) == -15


def test_processes_of_a_claimed_task_are_no_orphans(world: World) -> None:
    """A gate of a run that is alive is listed as running, and survives."""
    task = world.new()
    with Project.open(world.root, world.environ):
        held = try_lock(Layout(world.root).lock(TaskId(task)))
        assert held is not None
    with marked(world, task, "gate") as gate:
        world.ostler("kill", "--orphans")
        assert gate.poll() is None
        assert [one["pid"] for one in world.json("ps")["others"]] == [gate.pid]
    held.release()
