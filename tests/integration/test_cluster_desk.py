"""In a cluster only workers run tasks: a run on another machine would compete with theirs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess

import pytest
from msgspec.structs import replace
from servers.postgres import PostgresServer
from servers.temporal import TemporalServer

from cluster_world import ClusterWorld
from journal_values import make_attempt
from ostler.engine.records import append_event
from ostler.errors import Code, OstlerError
from ostler.model.event import TaskClaimed, TaskStarted
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from world import World


@pytest.fixture
def desk(world: World, postgres_server: PostgresServer) -> World:
    """A machine of a cluster whose Temporal server is not running."""
    world.environ |= {
        "OSTLER_ENGINE__KIND": "temporal",
        "OSTLER_ENGINE__ADDRESS": "127.0.0.1:1",
        "OSTLER_ENGINE__SHARED_ROOT": "true",
        "OSTLER_STORE__URL": postgres_server.new_database(),
    }
    return world


def add(desk: World, *events: TaskClaimed | TaskStarted) -> TaskId:
    """Add a task to which a worker has written these events."""
    with Project.open(desk.root, desk.environ, create=True) as project:
        task = project.add(Task("One")).id
        for event in events:
            append_event(project.journal, task, event, 9.0)
        return task


def read_claims(desk: World) -> list[str]:
    """Return the host of each claim."""
    lines = desk.ostler("events", "--json").stdout.splitlines()
    return [event["host"] for event in map(json.loads, lines) if event["type"] == "task_claimed"]


def move_target(world: World) -> None:
    """Add a commit to the target of tasks."""
    (world.root / "more.txt").write_text("more\n")
    world.git("add", "more.txt")
    world.git("commit", "-q", "-m", "more")


CLAIMED = TaskClaimed("run", host="alpha-1")


def test_a_program_leaves_tasks_to_the_workers(desk: World) -> None:
    """Without the server nothing is run by a program that uses the library."""
    add(desk)

    async def run() -> None:
        async with Ostler(Project.open(desk.root, desk.environ), desk.environ) as ostler:
            await ostler.run_all()

    with pytest.raises(OstlerError, match="cannot use the Temporal server") as refused:
        asyncio.run(run())
    assert refused.value.code is Code.ENGINE_UNAVAILABLE
    assert read_claims(desk) == []


def test_a_running_task_is_cancelled_by_its_worker(desk: World) -> None:
    """The decision is recorded; a claim of this machine would end the agent without its result."""
    task = add(desk, CLAIMED)
    assert f"{task} is being cancelled" in desk.ostler("cancel", task).stderr
    assert read_claims(desk) == ["alpha-1"]


def test_a_worktree_on_another_machine_has_no_path(desk: World) -> None:
    """Only the name of its worker is shown; here it would be a directory that does not exist."""
    task = add(desk, CLAIMED, TaskStarted("one", "ostler/one", "0" * 40))
    shown = desk.ostler("show", task).stdout
    assert "worker    alpha-1" in shown and "worktrees/one" not in shown
    (desk.root / ".ostler" / "worktrees" / "one").mkdir(parents=True)
    assert "worktrees/one" in desk.ostler("show", task).stdout


@pytest.mark.parametrize("status", ["running", "succeeded"])
def test_an_agent_of_another_clone_is_no_orphan(desk: World, status: str) -> None:
    """A worker in another clone on this machine runs it; it is one when its attempt has ended."""
    task = add(desk, CLAIMED)
    with Project.open(desk.root, desk.environ) as project:
        attempt = replace(make_attempt(task), owner=f"{os.uname().nodename}:{os.getpid()}:ab")
        number = project.journal.begin_attempt(attempt)
        if status != "running":
            project.journal.end_attempt(replace(attempt, number=number, status=status))
        marker = f"{project.journal.store_id}:{task}:{number}"
    agent = subprocess.Popen(["sleep", "60"], env={**os.environ, "OSTLER_ATTEMPT": marker})
    try:
        listed = desk.ostler("ps", "--orphans").stdout
        assert (str(agent.pid) in listed) == (status != "running"), listed
    finally:
        agent.kill()
        agent.wait()


def test_a_worker_without_the_remote_does_not_start(desk: World) -> None:
    """It would fail each task that it takes, while other workers could run them."""
    task = add(desk)
    environ = {"OSTLER_ENGINE__SHARED_ROOT": "false", "OSTLER_BLOBS__URL": f"file://{desk.root.parent}/blobs"}
    done = desk.ostler("worker", code=2, OSTLER_ENGINE__REMOTE="upstream", **environ)
    assert "has no git remote upstream (engine.remote)" in done.stderr
    assert "git remote add upstream URL, or correct engine.remote" in done.stderr
    assert task and read_claims(desk) == []


@pytest.mark.full
def test_accepted_work_is_published_by_a_worker(
    world: World, temporal_server: TemporalServer, postgres_url: str
) -> None:
    """The command follows it and prints its result; each claim names a worker."""
    cluster = ClusterWorld(world, temporal_server, postgres_url)
    cluster.start_worker()
    task = world.new("A greeting")
    cluster.wait_for(task, "completed")
    move_target(world)
    assert "rebased" in world.ostler("rebase", task).stdout
    assert json.loads(world.ostler("merge", task, "--json").stdout)["tasks"][0]["result"] == "merged"
    assert len(set(read_claims(world))) == 1
