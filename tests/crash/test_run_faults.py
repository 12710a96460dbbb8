"""Runs that are killed at the worst moment, parallel runs, and their leftovers (B3, B5, B6, B7, B23)."""

from __future__ import annotations

import os

import psutil
import pytest

from journal_file import journal_path
from oracle import check_all_done
from ostler.testing.fake_agent import read_ledger
from test_kill_storm import kill
from world import KILL, World, end, wait_until


def test_a_commit_that_was_made_is_found_and_not_made_again(world: World) -> None:
    """Killed between the commit and its record: the next run finds it, and calls no agent (B3)."""
    task = world.new()
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT="checkpoint.committed:kill:1")
    made = world.git("rev-parse", f"ostler/{task}").strip()
    world.ostler("run", "--all")
    check_all_done(world, [task])
    assert world.show(task)["commit"] == made
    assert len(world.started()) == 1, "the agent was called again"


@pytest.mark.parametrize(("place", "attempts"), [("attempt.begin", 1), ("attempt.begun", 2)])
def test_a_claim_without_a_start_is_given_to_the_next_run(world: World, place: str, attempts: int) -> None:
    """Killed between the claim and the agent's start: queued again, with the next attempt's number (B5)."""
    task = world.new()
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT=f"{place}:kill:1")
    assert world.show(task)["status"] == "pending"
    assert world.started() == []
    world.ostler("run", "--all")
    check_all_done(world, [task])
    assert [attempt["number"] for attempt in world.show(task)["attempts"]] == list(range(1, attempts + 1))
    assert [line["event"] for line in read_ledger(world.ledger)].count("edit") == 1


def test_an_agent_of_a_dead_run_is_gone_before_the_next_one_starts(world: World) -> None:
    """The next run waits for the keeper, which holds the lock until the stubborn agent has ended (B6)."""
    world.behave(plan=[{"fault": "a2_ignores_term"}, {}])
    task = world.new()
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    end(run, KILL)
    following = world.start("run", "--all")
    wait_until(lambda: len(world.started()) == 2, 30, "the task was not taken again")
    alive = {int(line.split()[0]) for line in world.survivors()}
    assert world.started()[0]["pid"] not in alive, "two agents worked on one task"
    assert following.wait(30) == 0
    check_all_done(world, [task])


@pytest.mark.full
def test_four_runs_share_eight_tasks(world: World) -> None:
    """Every task is claimed once and by one run, in any order (B7)."""
    world.behave(delay_seconds=0.1)
    tasks = [world.new(f"Task number {number}") for number in range(8)]
    runs = [world.start("run", "--all") for _ in range(4)]
    assert [run.wait(60) for run in runs] == [0] * 4
    check_all_done(world, tasks)
    claims = [event["task_id"] for event in world.events() if event["type"] == "task_claimed"]
    assert sorted(claims) == sorted(tasks)
    assert len(world.started()) == 8


def test_lock_files_of_ended_processes_block_no_run(world: World) -> None:
    """The kernel decides about a lock: a remaining file, with any pid in it, is taken at once (B23)."""
    world.behave(plan=[{"fault": "a1_hangs"}, {}])
    tasks = [world.new("First")]
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    below = psutil.Process(run.pid).children(recursive=True)
    kill(run.pid, whole_tree=True)
    run.wait(20)
    wait_until(lambda: not any(map(_lives, below)), 20, "a keeper outlived its kill")
    tasks.append(world.new("Second"))
    locks = journal_path(world.root).parent / "locks"
    assert (locks / tasks[0]).exists()
    for name in (*tasks, "in-place", "of-nobody"):
        (locks / name).write_text(f"{os.getpid()}\n")  # a pid that is used again by a running process
    assert {task["status"] for task in world.json("status")["tasks"]} == {"pending"}
    world.ostler("run", "--all")
    check_all_done(world, tasks)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_an_agent_that_outlived_its_keeper_is_gone_before_the_next_attempt(world: World) -> None:
    """Run, forker and keeper are killed at once: the next run ends the agent before it starts another."""
    world.behave(fault="a1_hangs")
    task = world.new()
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    agent = psutil.Process(world.started()[0]["pid"])
    try:
        kill_at_once([one for one in family_of(run.pid) if one != agent and agent not in one.parents()])
        run.wait(20)
        assert _lives(agent), "the agent must outlive them, or nothing is tested"
        world.behave(script=f"grep -h State: /proc/{agent.pid}/status > earlier.txt 2>/dev/null; true")
        world.ostler("run", "--all")
        earlier = world.git("show", f"ostler/{task}:earlier.txt")
        assert earlier == "" or "Z" in earlier, "two agents worked on one task"
    finally:
        if agent.is_running():
            agent.kill()


def family_of(pid: int) -> list[psutil.Process]:
    """Return the process and all its descendants."""
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def kill_at_once(processes: list[psutil.Process]) -> None:
    """Kill them so that none has time to react to the end of another."""
    for process in processes:
        process.suspend()
    for process in processes:
        process.kill()
