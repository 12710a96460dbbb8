"""Workers of a cluster run tasks on a real Temporal server, and continue each other's work."""

from __future__ import annotations

import base64
import os
import re
import signal
import time
from pathlib import Path

import psutil
import pytest
from servers.temporal import TemporalServer

from cluster_world import HEARTBEAT_SECONDS, ClusterWorld, make_hosts
from world import KILL, STOP, World, busy_below, end, wait_until

STOPPED = 143  # exit code
TAKEOVER_SECONDS = HEARTBEAT_SECONDS + 10  # about 2 on a machine that does nothing else


@pytest.fixture
def cluster(world: World, temporal_server: TemporalServer, postgres_url: str) -> ClusterWorld:
    return ClusterWorld(world, temporal_server, postgres_url)


def test_a_killed_worker_is_replaced_in_mid_call(
    tmp_path: Path, temporal_server: TemporalServer, postgres_url: str
) -> None:
    """One task runs to its end; the worker of another one is killed, and a second machine continues it."""
    ours, theirs = make_hosts(tmp_path, temporal_server, postgres_url, "ours", "theirs")
    first = ours.start_worker()
    whole = ours.world.new("A whole one", "-d", "It needs a xylophone.")
    ours.wait_for(whole, "completed")
    for host in (ours, theirs):
        host.world.behave(delay_seconds=3.0)
    task = ours.world.new("One in two parts")
    wait_until(lambda: len(ours.world.started()) == 2, 60, ours.messages)
    second = theirs.start_worker()
    time.sleep(2)  # it has connected, as the workers of a cluster have
    end(first, KILL)
    killed = time.monotonic()
    wait_until(theirs.world.started, 60, theirs.messages)
    taken_over = time.monotonic() - killed
    theirs.wait_for(task, "completed")
    check_history(theirs.read_history(whole), attempts=1)
    check_history(theirs.read_history(task), attempts=2)
    assert end(second, STOP) == STOPPED
    assert taken_over < TAKEOVER_SECONDS, taken_over
    claims = [event for event in theirs.world.events(task) if event["type"] == "task_claimed"]
    assert len(claims) == 2
    for host in (ours, theirs):
        host.world.close()


def check_history(history: str, attempts: int) -> None:
    """A run of a task is 11 events in less than 2 KB; a lost worker adds none, and no text is sent."""
    assert history.count('"eventType"') == 11
    (started,) = re.findall(
        r'"activityTaskStartedEventAttributes": \{.*?"attempt": (\d+)', history, re.DOTALL
    )
    assert int(started) == attempts
    sent = base64.b64decode
    values = [sent(value).decode() for value in re.findall(r'"data": "([^"]*)"', history)]
    assert len(values) == 4  # the orders of the workflow and of its activity, and their statuses
    assert not [text for text in (history, *values) if "xylophone" in text or "fake" in text]
    assert len(history) < 8000  # as JSON; on the server about a fifth


@pytest.mark.full
def test_a_run_that_is_longer_than_the_timeout_of_the_sdk(cluster: ClusterWorld) -> None:
    """Five seconds after the heartbeat timeout the SDK cancels an activity, whose result counts anyway."""
    cluster.world.behave(delay_seconds=HEARTBEAT_SECONDS + 7)
    worker = cluster.start_worker()
    task = cluster.world.new("Takes long")
    cluster.wait_for(task, "completed")
    check_history(cluster.read_history(task), attempts=1)
    assert end(worker, STOP) == STOPPED


@pytest.mark.full
def test_a_worker_takes_no_more_tasks_than_it_has_jobs(cluster: ClusterWorld) -> None:
    """What it took would wait in it while another worker is free."""
    cluster.world.behave(delay_seconds=2.0)
    worker = cluster.start_worker()
    tasks = [cluster.world.new(f"Task {number}") for number in range(3)]
    for task in tasks:
        cluster.wait_for(task, "completed")
        check_history(cluster.read_history(task), attempts=1)
    assert end(worker, STOP) == STOPPED


@pytest.mark.full
def test_a_stopped_worker_leaves_its_work_to_another(cluster: ClusterWorld) -> None:
    """Its agent is stopped, the work is saved, and the next worker resumes it at once."""
    cluster.world.behave(delay_seconds=4.0)
    first = cluster.start_worker()
    task = cluster.world.new("One in two parts")
    wait_until(lambda: len(cluster.world.started()) == 1, 60, cluster.messages)
    second = cluster.start_worker()
    time.sleep(1)
    assert end(first, STOP) == STOPPED
    released = [event["type"] for event in cluster.world.events(task)]
    assert "task_released" in released
    wait_until(lambda: len(cluster.world.started()) == 2, 5, cluster.messages)
    cluster.wait_for(task, "completed")
    assert end(second, STOP) == STOPPED


@pytest.mark.full
def test_a_frozen_worker_loses_its_agent_and_its_task(cluster: ClusterWorld) -> None:
    """SIGSTOP for longer than the heartbeat: the keeper ends the agent; after SIGCONT nothing is recorded."""
    cluster.world.behave(delay_seconds=5.0)
    first = cluster.start_worker()
    task = cluster.world.new("One in two parts")
    wait_until(lambda: len(cluster.world.started()) == 1, 60, cluster.messages)
    second = cluster.start_worker()
    time.sleep(1)
    agent = set(busy_below(Path(cluster.world.show(task)["worktree"])))
    assert agent
    os.kill(first.pid, signal.SIGSTOP)
    frozen = time.monotonic()
    wait_until(lambda: not any(psutil.pid_exists(pid) for pid in agent), 10, "the agent works on")
    assert time.monotonic() - frozen < HEARTBEAT_SECONDS + 1
    time.sleep(HEARTBEAT_SECONDS)
    # On one machine the lock of a frozen process is still taken; another host would have the task by now.
    os.kill(first.pid, signal.SIGCONT)
    cluster.wait_for(task, "completed")
    events = [event["type"] for event in cluster.world.events(task)]
    assert (events.count("task_claimed"), events.count("call_ended")) == (2, 1)
    assert [one["status"] for one in cluster.world.show(task)["attempts"]] == ["interrupted", "succeeded"]
    assert end(first, STOP) == STOPPED
    assert end(second, STOP) == STOPPED


@pytest.mark.full
def test_labels_of_tasks_and_workers(cluster: ClusterWorld) -> None:
    """A task with a label waits for a worker that has it, and such a worker runs other tasks too."""
    plain = cluster.start_worker()
    task, other = cluster.world.new("Needs a GPU", "--label", "gpu"), cluster.world.new("Needs nothing")
    cluster.wait_for(other, "completed")
    assert cluster.status(task) == "pending"
    assert end(plain, STOP) == STOPPED
    special = cluster.start_worker(1, "gpu")
    third = cluster.world.new("Needs nothing either")
    cluster.wait_for(task, "completed")
    cluster.wait_for(third, "completed")
    assert end(special, STOP) == STOPPED


@pytest.mark.full
def test_a_server_that_is_killed_and_started_again(cluster: ClusterWorld, tmp_path: Path) -> None:
    """Without answers an agent is ended before its task could be given away; then the task continues."""
    own = TemporalServer(tmp_path / "temporal").start()
    cluster.use(own)
    cluster.world.behave(delay_seconds=6.0)
    worker = cluster.start_worker()
    task = cluster.world.new("Interrupted")
    wait_until(lambda: len(cluster.world.started()) == 1, 60, cluster.messages)
    place = Path(cluster.world.show(task)["worktree"])
    assert busy_below(place)
    own.program.kill()
    killed = time.monotonic()
    wait_until(lambda: not busy_below(place), 10, "the agent works on")
    assert time.monotonic() - killed < HEARTBEAT_SECONDS + 1
    own.start()
    cluster.wait_for(task, "completed", 60)
    assert end(worker, STOP) == STOPPED
    own.close()


@pytest.mark.full
def test_a_corrected_label_moves_a_task_to_the_workers_that_have_it(cluster: ClusterWorld) -> None:
    """The task was given to a queue that no worker polls."""
    worker = cluster.start_worker(1, "gpu")
    task, other = cluster.world.new("Needs a GPU", "--label", "gpuu"), cluster.world.new("Needs nothing")
    cluster.wait_for(other, "completed")
    assert cluster.status(task) == "pending"
    cluster.world.ostler("set", task, "label=gpu")
    cluster.wait_for(task, "completed", 30)
    assert end(worker, STOP) == STOPPED


@pytest.mark.full
def test_a_changed_queue_is_reported(cluster: ClusterWorld) -> None:
    """The board of the project and its waiting tasks stay in the old one, which no worker polls any more."""
    old = cluster.world.environ["OSTLER_ENGINE__QUEUE"]
    first = cluster.start_worker()
    task = cluster.world.new("Shows that the board runs")
    cluster.wait_for(task, "completed")
    assert end(first, STOP) == STOPPED
    cluster.world.environ["OSTLER_ENGINE__QUEUE"] = f"{old}-new"
    worker = cluster.start_worker()
    wait_until(lambda: f"gives tasks to the queue {old}" in cluster.messages, 30, cluster.messages)
    shown = cluster.world.ostler("cluster", "doctor", code=None).stdout
    assert f"it gives tasks to the queue {old}" in shown
    assert f"TaskQueue='{old}'" in cluster.messages and f"TaskQueue='{old}'" in shown
    task = cluster.world.new("Waits for a board")
    cluster.server.command("workflow", "terminate", "--query", f"TaskQueue='{old}'", "--yes")
    cluster.wait_for(task, "completed")
    assert end(worker, STOP) == STOPPED
