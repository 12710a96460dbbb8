"""One limit that many tasks and processes share: the first to meet it stops the others."""

from __future__ import annotations

import json
import re
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from models_world import QUICK, add_tasks, play, row, statuses, write_models
from ostler.testing.fake_agent import read_ledger
from person import Person
from world import KILL, World, bend, end, wait_until

GPT = row("gpt", "codex")
HOUR = 3600.0
COUNTS_DOWN = pytest.mark.one_machine(
    "in a cluster the run follows the workers, and Ctrl-C leaves them running"
)
RUN_ALL = [sys.executable, "-m", "ostler", "run", "--all", "-j", "1"]


def limit_after(world: World, calls: int, seconds: float = HOUR) -> None:
    """Set a provider limit for all calls after this many."""
    write_models(world, GPT, more=QUICK)
    play(world, "codex", fault="limited", count=calls, seconds=seconds)


@pytest.mark.full
def test_forty_tasks_share_one_limit(world: World) -> None:
    """After the 5th call only those already running meet the limit; no task fails, and all complete."""
    jump = bend(world)
    limit_after(world, 5)
    tasks = add_tasks(world, 40)
    run = world.start("run", "--all", "-j", "4", "--wait")
    wait_until(lambda: statuses(world) == {"completed": 5, "deferred": 35}, 100, "they do not all wait")
    assert 1 <= limited(world) <= 4
    assert len(world.started()) == 5 + limited(world)
    times = [found["resumes_at"] for found in world.json("status")["tasks"] if found["status"] == "deferred"]
    assert spread(times) < 30 and abs(in_seconds(times[0]) - HOUR) < 300

    end(run, KILL)
    assert shown(world)["state"] == "limited"
    assert abs(in_seconds(shown(world)["until"]) - HOUR) < 300
    calls = len(world.started())
    world.ostler("run", "--all")
    assert len(world.started()) == calls

    run = world.start("run", "--all", "-j", "4", "--wait")
    position = len(world.events())
    reopen(world, jump)
    assert run.wait(100) == 0
    assert statuses(world) == {"completed": 40}
    assert len(world.started()) == calls + 35
    assert shown(world)["state"] == "ready"
    check_one_probe(world.events()[position:])
    check_never_failed(world, tasks)


@pytest.mark.full
def test_a_run_that_is_killed_leaves_what_it_learnt(world: World) -> None:
    """kill -9 right after the limit, while agents run: the next run makes no call before the end."""
    jump = bend(world)
    limit_after(world, 2)
    add_tasks(world, 8)
    run = world.start("run", "--all", "-j", "4")
    wait_until(lambda: shown(world)["state"] == "limited", 60, "the limit is not recorded")
    end(run, KILL)
    wait_until(lambda: not world.survivors(), 20, "agents outlived the run")
    assert shown(world)["state"] == "limited"
    calls = len(world.started())
    world.ostler("run", "--all", code=None)
    assert len(world.started()) == calls
    assert statuses(world)["deferred"] + statuses(world)["completed"] == 8
    reopen(world, jump)
    world.ostler("run", "--all")
    assert statuses(world) == {"completed": 8}


@pytest.mark.full
def test_two_runs_obey_the_same_window(world: World) -> None:
    """Two processes on one store: a limit of one stops the other, and one of them probes for both."""
    jump = bend(world)
    limit_after(world, 3)
    tasks = add_tasks(world, 12)
    runs = [world.start("run", "--all", "-j", "2") for _ in range(2)]
    assert all(run.wait(100) in (0, 5) for run in runs)
    assert statuses(world) == {"completed": 3, "deferred": 9}
    assert 1 <= limited(world) <= 4
    position = len(world.events())
    reopen(world, jump)
    runs = [world.start("run", "--all", "-j", "2") for _ in range(2)]
    assert [run.wait(100) for run in runs] == [0, 0]
    assert statuses(world) == {"completed": 12}
    check_one_probe(world.events()[position:])
    check_never_failed(world, tasks)


@pytest.mark.full
def test_a_run_for_scripts_waits_for_the_end_of_a_limit(world: World) -> None:
    """run --json --wait: deferred, claimed again when it is due, and one document for each task."""
    limit_after(world, 1, seconds=2.0)
    tasks = add_tasks(world, 3)
    began = time.monotonic()
    done = world.ostler("run", "--all", "--wait", "--json", OSTLER_RETRY__MAX_DELAY_SECONDS="0.1")
    assert time.monotonic() - began >= 2.0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    documents = [line for line in lines if line["schema"] == "ostler.task/1"]
    assert sorted(line["id"] for line in documents) == sorted(tasks)
    assert [line["status"] for line in documents] == ["completed"] * 3
    assert {line["task_id"] for line in lines if line.get("type") == "task_deferred"} <= set(tasks)
    assert "task_deferred" in [line.get("type") for line in lines]


def test_without_waiting_the_run_ends_and_shows_when(world: World) -> None:
    """--no-wait, the default outside a terminal: exit 5, and the line names the time."""
    limit_after(world, 0)
    (task,) = add_tasks(world, 1)
    done = world.ostler("run", "--all", code=5)
    found = re.search(r"resumes at ((\d{4}-\d\d-\d\d )?\d\d:\d\d); QUOTA_EXCEEDED", done.stdout)
    assert found
    assert f"ostler run {task}   from {found[1]} on" in done.stderr
    assert found[0] in world.ostler("status").stdout
    calls = len(world.started())
    world.ostler("run", task, code=5)
    assert len(world.started()) == calls


@COUNTS_DOWN
def test_a_terminal_counts_down_and_then_goes_on(world: World) -> None:
    """The screen shows the remaining time, and the run continues by itself."""
    limit_after(world, 0, seconds=2.0)
    add_tasks(world, 1)
    with Person(RUN_ALL, world.root, world.environ | {"OSTLER_RETRY__MAX_DELAY_SECONDS": "0.1"}) as person:
        person.read_until("1 task is deferred; resumes at ")
        person.read_until("completed")
        assert person.leave() == 0


@COUNTS_DOWN
def test_control_c_during_the_wait_leaves_all_deferred(world: World) -> None:
    """No agent was running, so nothing was interrupted: exit 5, as the tasks show."""
    limit_after(world, 0)
    tasks = add_tasks(world, 3)
    with Person(RUN_ALL, world.root, world.environ) as person:
        person.read_until("3 tasks are deferred; resumes at ")
        assert re.match(r"[-0-9: ]+, in (1:00:00|59:\d\d)", person.read_until("\n"))
        person.type("\x03")
        assert person.leave() == 5
    assert [world.show(task)["status"] for task in tasks] == ["deferred"] * 3
    assert all(world.show(task)["resumes_at"] for task in tasks)
    assert not world.survivors()


@COUNTS_DOWN
def test_a_terminal_counts_down_for_what_an_earlier_run_deferred(world: World) -> None:
    """Nothing happens for an hour, so the screen must show the reason of the wait."""
    limit_after(world, 0)
    add_tasks(world, 1)
    world.ostler("run", "--all", code=5)
    with Person(RUN_ALL, world.root, world.environ) as person:
        person.read_until("1 task is deferred; resumes at ")
        person.type("\x03")
        assert person.leave() == 130
    assert statuses(world) == {"deferred": 1}


def limited(world: World) -> int:
    """Return how many calls met the limit."""
    return sum(line["event"] == "limit" for line in read_ledger(world.ledger))


def shown(world: World) -> dict[str, Any]:
    """Return what `ostler models` shows for the one model."""
    (model,) = world.json("models")["models"]
    return model


def reopen(world: World, jump: Path) -> None:
    """Advance the time of the program and of the provider by an hour."""
    world.agents.joinpath("codex.window").write_text("0\n")
    later = jump.with_suffix(".new")
    later.write_text(str(HOUR + 600))
    later.replace(jump)


def check_one_probe(events: list[dict[str, Any]]) -> None:
    """The first call after a limit is the only one until its model has answered."""
    first, second = [place for place, event in enumerate(events) if event["type"] == "attempt_started"][:2]
    task = events[first]["task_id"]
    between = [event["type"] for event in events[first:second] if event["task_id"] == task]
    assert "tool_used" in between, between


def check_never_failed(world: World, tasks: list[str]) -> None:
    kinds = [event["type"] for event in world.events()]
    assert "task_failed" not in kinds
    assert kinds.count("task_completed") == len(tasks)


def in_seconds(time_text: str) -> float:
    return datetime.fromisoformat(time_text).timestamp() - time.time()


def spread(times: list[str]) -> float:
    moments = [datetime.fromisoformat(one).timestamp() for one in times]
    return max(moments) - min(moments)
