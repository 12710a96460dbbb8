"""`ostler run` in a cluster: workers run the tasks, and it follows them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from servers.temporal import TemporalServer

from cluster_world import ClusterWorld
from models_world import play, row, write_models
from ostler.model.ids import TaskId
from ostler.project.cluster import follow
from ostler.project.project import Project
from person import Person
from world import INTERRUPT, STOP, World, end, wait_until

pytestmark = pytest.mark.full


@pytest.fixture
def cluster(world: World, temporal_server: TemporalServer, postgres_url: str) -> ClusterWorld:
    return ClusterWorld(world, temporal_server, postgres_url)


def start_run(cluster: ClusterWorld, *tasks: str) -> tuple[subprocess.Popen[bytes], Path]:
    """Start a run; return it and the file with what it prints."""
    output = cluster.world.root.parent / "run.txt"
    with output.open("wb") as file:
        child = subprocess.Popen(
            [sys.executable, "-m", "ostler", "run", *tasks],
            cwd=cluster.world.root,
            env=cluster.world.environ,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    cluster.world._started.append(child)
    return child, output


@pytest.mark.smoke
def test_a_run_follows_the_workers(cluster: ClusterWorld) -> None:
    """It says that there is no worker, prints what one does for its task, and ends with its result."""
    task, other = cluster.world.new("A greeting"), cluster.world.new("Another one")
    run, output = start_run(cluster, task)
    wait_until(lambda: "No worker polls the queue" in output.read_text(), 20, "it does not warn")
    worker = cluster.start_worker()
    assert run.wait(60) == 0
    printed = output.read_text()
    assert "task claimed" in printed and "task completed" in printed
    assert f"completed     {task}  ostler/{task}" in printed
    assert other not in printed
    cluster.wait_for(other, "completed")
    assert end(worker, STOP) == 143


def test_ctrl_c_leaves_the_tasks_to_the_workers(cluster: ClusterWorld) -> None:
    """Exit 130, and the task continues; a later run shows it from the claim on."""
    cluster.world.behave(delay_seconds=3.0)
    worker = cluster.start_worker()
    task = cluster.world.new("A long one")
    wait_until(cluster.world.started, 30, cluster.messages)
    run, output = start_run(cluster, task)
    wait_until(lambda: "attempt started" in output.read_text(), 20, "the claim is not shown")
    assert end(run, INTERRUPT) == 130
    printed = output.read_text()
    assert "Stopping; the workers continue the tasks." in printed
    assert f"1 task is left to the workers.  Stop one: ostler pause {task}" in printed
    cluster.wait_for(task, "completed")
    assert len(cluster.world.started()) == 1, "the agent was stopped"
    assert end(worker, STOP) == 143


def test_a_run_reports_a_task_that_a_worker_has_failed_before(cluster: ClusterWorld) -> None:
    """The exit code is that of the end, and does not depend on which of the two was faster."""
    cluster.world.behave(fault="a18_exit", status=2)
    cluster.world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    task = cluster.world.new("A greeting")
    worker = cluster.start_worker()
    cluster.wait_for(task, "failed")
    done = cluster.world.ostler("run", task, code=1)
    assert f"failed        {task}  AGENT_FAILED" in done.stdout
    assert f"ostler retry {task}" in done.stderr
    assert f"ostler retry {task}" in cluster.world.ostler("run", task, "--detach", code=2).stderr
    assert len(cluster.world.started()) == 1
    assert end(worker, STOP) == 143


def test_a_run_ends_when_the_provider_needs_a_person(cluster: ClusterWorld) -> None:
    """The task stays pending, and no worker starts it before somebody has logged in."""
    cluster.world.behave(fault="api_error", error=401)
    task = cluster.world.new("A greeting")
    worker = cluster.start_worker()
    done = cluster.world.ostler("run", task, code=4)
    assert f"pending       {task}  AUTH_FAILED" in done.stdout
    assert cluster.status(task) == "pending"
    assert end(worker, STOP) == 143


def test_a_terminal_counts_down_until_a_deferred_task_resumes(cluster: ClusterWorld) -> None:
    """Nothing happens for an hour, so the screen must show the reason of the wait."""
    write_models(cluster.world, row("gpt", "codex"))
    play(cluster.world, "codex", fault="limited", count=0, seconds=3600.0)
    worker = cluster.start_worker()
    task = cluster.world.new("A greeting")
    cluster.wait_for(task, "deferred")
    argv = [sys.executable, "-m", "ostler", "run", "--all"]
    with Person(argv, cluster.world.root, cluster.world.environ) as person:
        person.read_until("1 task is deferred; resumes at ")
        person.type("\x03")
        assert person.leave() == 130
    assert end(worker, STOP) == 143


def test_a_new_task_is_named_when_the_server_does_not_answer(cluster: ClusterWorld) -> None:
    """It is recorded: a person who repeats the command would have it twice."""
    nothing = {"OSTLER_ENGINE__ADDRESS": "127.0.0.1:1"}
    refused = cluster.world.ostler("run", "-p", "A greeting", code=1, **nothing)
    (task,) = (one["id"] for one in cluster.world.json("status")["tasks"])
    assert "connection refused" in refused.stderr and f"then: ostler run {task}" in refused.stderr


def test_a_run_prints_that_it_waits_for_a_worker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, when nothing runs for a while."""
    monkeypatch.setattr(follow, "_QUIET_SECONDS", 0.3)
    messages: list[str] = []

    async def wait(project: Project) -> None:
        stopped = asyncio.Event()
        asyncio.get_running_loop().call_later(1.2, stopped.set)
        await follow.follow_until_done(project, [TaskId(task)], stopped, messages.append)

    task = world.new("A greeting")
    with Project.open(world.root, world.environ) as project:
        asyncio.run(wait(project))
    assert len(messages) == 1 and messages[0].startswith("1 task waits for a worker with a free job")
