"""Failures of a provider: tasks wait for it and continue by themselves; none fails because of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from models_world import QUICK, add_tasks, called, play, row, statuses, write_models
from world import STOP, World, end, wait_until

SONNET = row("sonnet", "claude")
SHORT_PROBES = "OSTLER_RETRY__PROBE_DELAY_SECONDS"
LOGGED_OUT = {"fault": "api_error", "error": 401}
BUSY = {"fault": "api_error", "error": 529}
NETWORK_GONE = {"fault": "a18_exit", "status": 1, "error_message": "connect ECONNREFUSED 127.0.0.1:443"}
HELD = pytest.mark.one_machine("in a cluster a run waits while the workers hold tasks back")


def notified(world: World) -> list[dict[str, str]]:
    """Let a program record every notification, and return what it has recorded so far."""
    inbox = world.root.parent / "inbox.jsonl"
    return [json.loads(line) for line in inbox.read_text().splitlines()] if inbox.exists() else []


def notify_program(world: World) -> str:
    program = world.root.parent / "notify.sh"
    inbox = world.root.parent / "inbox.jsonl"
    program.write_text(f"#!/bin/sh\ncat >> {inbox}\necho >> {inbox}\n")
    program.chmod(0o755)
    return f'\n[[notify]]\ncommand = ["{program}"]\n'


@pytest.mark.full
@HELD
def test_a_login_that_expires_in_the_middle_of_a_backlog(world: World) -> None:
    """The other tasks stay pending, `run` exits with 4, one message is sent; after the login all complete."""
    write_models(world, SONNET, more=QUICK + notify_program(world))
    world.behave(plan=["", "", LOGGED_OUT])
    add_tasks(world, 5)
    done = world.ostler("run", "--all", "-j", "1", code=4)
    assert statuses(world) == {"completed": 2, "pending": 3}
    assert len(world.started()) == 3
    (line,) = [line for line in done.stderr.splitlines() if "not started" in line]
    assert line.startswith("2 more tasks were not started: AUTH_FAILED")
    assert "log in with: claude auth login.  Next: ostler run --all" in line
    (held,) = [task for task in world.json("status")["tasks"] if task["code"]]
    shown = world.show(held["id"])
    assert (shown["status"], shown["code"]) == ("pending", "AUTH_FAILED")
    assert "log in with: claude auth login" in shown["message"]
    assert [one["on"] for one in notified(world) if one["on"] != "completed"] == ["needs_you"]
    world.behave()
    world.ostler("run", "--all")
    assert statuses(world) == {"completed": 5}


@HELD
def test_a_second_run_before_the_login_probes_once(world: World) -> None:
    """The person starts a run, so one call is made at once; the other tasks are not started."""
    write_models(world, SONNET, more=QUICK)
    world.behave(**LOGGED_OUT)
    add_tasks(world, 4)
    world.ostler("run", "--all", "-j", "1", code=4)
    world.ostler("run", "--all", "-j", "1", code=4)
    assert len(world.started()) == 2
    assert statuses(world) == {"pending": 4}


@pytest.mark.parametrize("fault", [LOGGED_OUT, BUSY], ids=["401", "529"])
@pytest.mark.full
def test_the_worker_continues_by_itself(world: World, fault: dict[str, object]) -> None:
    """One call probes after a growing delay; no task needs a retry by a person."""
    write_models(world, SONNET, more=QUICK)
    world.behave(**fault)
    add_tasks(world, 5)
    child = world.start("worker", "-j", "2", **{SHORT_PROBES: "0.5"})
    wait_until(lambda: len(world.started()) >= 3, 60, "no probe was made")
    world.behave()
    wait_until(lambda: statuses(world)["completed"] == 5, 60, "the worker does not continue")
    end(child, STOP)
    assert not [event for event in world.events() if event["type"] == "task_failed"]


@pytest.mark.full
@pytest.mark.one_machine("in a cluster a run ends when its tasks are deferred, and the workers continue them")
@pytest.mark.parametrize("fault", [NETWORK_GONE, BUSY], ids=["network", "529"])
@pytest.mark.sampled(1)
def test_a_short_outage_within_one_run(world: World, fault: dict[str, object]) -> None:
    """The tasks are deferred for a moment, and the same run completes them."""
    write_models(world, SONNET, more=QUICK)
    world.behave(plan=["", *[fault] * 5, ""])
    add_tasks(world, 5)
    world.ostler("run", "--all", "-j", "1", "--no-wait", **{SHORT_PROBES: "0.3"})
    assert statuses(world) == {"completed": 5}


def test_a_long_outage_defers_the_tasks(world: World) -> None:
    """A run without --wait ends with 5, and no task has failed."""
    write_models(world, SONNET, more=QUICK)
    world.behave(**BUSY)
    add_tasks(world, 3)
    world.ostler("run", "--all", "--no-wait", code=5, OSTLER_RETRY__PROBE_DELAY_SECONDS="100")
    assert statuses(world) == {"deferred": 3}
    assert len(world.started()) <= 6


def test_another_account_goes_on(world: World) -> None:
    """A refused key stops the calls of its own account only."""
    write_models(world, row("first", "claude", account="a"), row("second", "claude", account="b"))
    world.behave(plan=[LOGGED_OUT, ""])
    add_tasks(world, 3)
    world.ostler("run", "--all", "-j", "1")
    assert statuses(world) == {"completed": 3}


@HELD
def test_a_refused_login_beside_an_overloaded_model(world: World) -> None:
    """The tasks wait for the model that recovers by itself: deferred, exit code 5."""
    write_models(world, row("first", "claude", account="a"), row("second", "claude", account="b"))
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(plan=[LOGGED_OUT, BUSY])
    add_tasks(world, 3)
    done = world.ostler("run", "--all", "-j", "1", "--no-wait", code=5)
    assert statuses(world) == {"deferred": 3}
    assert len(world.started()) == 2 and "not started" not in done.stderr


@pytest.mark.full
def test_provider_failures_do_not_lead_to_quarantine(world: World) -> None:
    """A model whose every answer breaks with 400 fails the task each time, but never quarantines it."""
    world.behave(fault="api_error", error=400)
    task = world.new("Fail")
    for _ in range(4):
        world.ostler("run", task, code=1)
        assert world.show(task)["status"] == "failed"
        world.ostler("retry", task)


@pytest.mark.full
@HELD
def test_failures_with_one_cause_stop_the_run(world: World) -> None:
    """After five different tasks the run starts no further one, prints why, and exits with 1."""
    write_models(world, SONNET, more=QUICK)
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(fault="a18_exit", status=3, error_message="broken")
    add_tasks(world, 9)
    done = world.ostler("run", "--all", "-j", "1", code=1)
    assert statuses(world) == {"failed": 5, "pending": 4}
    assert "5 tasks in a row failed with AGENT_FAILED" in done.stderr
    assert "ostler retry --code AGENT_FAILED" in done.stderr
    assert "4 more tasks were not started: the run stopped after failures" in done.stderr
    world.ostler("run", "--all", "-j", "1", code=1, OSTLER_RUN__STOP_AFTER_FAILURES="0")
    assert statuses(world) == {"failed": 9}


@pytest.mark.full
def test_retry_of_many_tasks(world: World) -> None:
    """--failed, --code and --since name the tasks; ids and filters exclude each other."""
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(plan=[{"fault": "crash"}, {"fault": "crash"}, {"fault": "api_error", "error": 404}])
    write_models(world, SONNET, more=QUICK)
    tasks = add_tasks(world, 3)
    world.ostler("run", "--all", "-j", "1", code=1)
    world.ostler("retry", code=2)
    world.ostler("retry", tasks[0], "--failed", code=2)
    assert "unknown code" in world.ostler("retry", "--code", "NOPE", code=2).stderr
    assert "18:30" in world.ostler("retry", "--since", "soon", code=2).stderr
    assert "No task matches" in world.ostler("retry", "--failed", "--since", "2999-01-01").stderr
    world.ostler("retry", "--code", "AGENT_FAILED")
    assert statuses(world) == {"pending": 2, "failed": 1}
    for option in ("--since", "--code"):  # such as an unset variable of a script
        world.ostler("retry", "--failed", option, "", code=2)
    world.ostler("retry", "--failed")
    assert statuses(world) == {"pending": 3}


def test_round_robin_continues_in_the_next_run(world: World) -> None:
    """The turn is kept in the ledger: three runs use three models."""
    write_models(world, row("a", "claude"), row("b", "claude"), row("c", "claude"))
    for _ in range(3):
        world.ostler("run", *add_tasks(world, 1))
    assert called(world) == ["claude model-of-a", "claude model-of-b", "claude model-of-c"]


@pytest.mark.full
def test_the_last_calls_are_shown(world: World) -> None:
    """`models`, `executors` and `doctor` show what the last call returned, and a check ends the outage."""
    write_models(world, SONNET, more=QUICK)
    world.behave(**LOGGED_OUT)
    (task,) = add_tasks(world, 1)
    world.ostler("run", task, code=4)
    shown = world.ostler("models").stdout
    assert "down, next probe " in shown and "AUTH_FAILED just now" in shown and "claude auth login" in shown
    (model,) = world.json("models")["models"]
    assert (model["state"], model["last_call"]["code"]) == ("down", "AUTH_FAILED")
    assert "AUTH_FAILED just now" in world.ostler("executors").stdout
    (listed,) = [one for one in world.json("executors")["executors"] if one["name"] == "claude"]
    assert listed["last_call"] == model["last_call"]
    (claude,) = [one for one in world.json("doctor", code=None)["checks"] if one["name"] == "agent claude"]
    assert "last call: AUTH_FAILED just now" in claude["detail"] and not claude["ok"]
    world.behave()
    world.ostler("models", "--check")
    assert world.json("models")["models"][0]["state"] == "ready"
    world.ostler("run", task)
    assert "ok just now" in world.ostler("models").stdout


@pytest.mark.full
def test_used_up_retries_are_shown(world: World) -> None:
    """The task's message, the feed, `models` and `doctor` name the setting."""
    write_models(world, SONNET, more=QUICK)
    world.environ["OSTLER_RETRY__BUDGET_PER_HOUR"] = "1"
    world.behave(fault="crash")
    (task,) = add_tasks(world, 1)
    world.ostler("run", task, code=1)
    assert "not retried: all 1 retries of the last hour are used" in world.show(task)["message"]
    assert "retries_used_up" in [event["type"] for event in world.events(task)]
    assert "retry.budget_per_hour" in world.ostler("models").stdout
    assert "retry.budget_per_hour" in world.ostler("doctor", code=None).stdout


def test_a_resume_that_does_nothing_starts_a_new_session(world: World) -> None:
    """For any output of the agent: the next attempt starts a new session with a summary of the work."""
    broken = {"fault": "a18_exit", "status": 1, "error_message": "the transcript is unreadable"}
    world.behave(plan=[{"fault": "no_mark", "edits": {"a.txt": "x"}}, broken, ""])
    task = world.new("Write a file")
    world.ostler("run", task)
    starts = world.started()
    assert [start["resumed"] for start in starts] == [False, True, False]
    shown = world.show(task)
    sessions = [attempt["session_id"] for attempt in shown["attempts"]]
    assert sessions[1] == sessions[0] != sessions[2]
    assert "session_replaced" in [event["type"] for event in world.events(task)]


@pytest.mark.full
@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", ["codex", "gemini", "qwen", "opencode", "copilot", "cursor"])
def test_every_agent_starts_a_new_session_after_a_lost_one(world: World, program: str) -> None:
    """The text is not one that the agent's table contains."""
    broken = {"fault": "a18_exit", "status": 1, "error_message": "the transcript is unreadable"}
    play(world, program, plan=[{"fault": "no_mark", "edits": {"a.txt": "x"}}, broken, ""])
    task = world.new("Write a file", "--executor", program)
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], len(shown["attempts"])) == ("completed", 3)
    assert [start["resumed"] for start in world.started()] == [False, True, False]


def test_a_budget_that_cannot_be_enforced_is_refused(world: World) -> None:
    """An agent that reports neither cost nor tokens is not started while there is a budget."""
    (world.root / "ostler.toml").write_text(
        '[run]\nexecutor = "mine"\n[executors.mine]\ntype = "command"\ncommand = "true"\n'
    )
    task = world.new("Spend")
    world.ostler("run", task, code=5, OSTLER_BUDGET__TASK_USD="1")
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("paused", "BUDGET_EXCEEDED")
    assert "cannot be enforced: mine reports neither its cost nor its tokens" in shown["message"]
    assert not shown["attempts"]


def test_the_budget_of_the_day_is_reported_once(world: World) -> None:
    """Many tasks wait for tomorrow, in several runs: one notification."""
    more = QUICK + "[budget]\nday_usd = 1.0\n" + notify_program(world) + 'on = ["limited"]\n'
    write_models(world, SONNET, more=more)
    world.environ["TZ"] = f"NOON{datetime.now(UTC).hour - 12:+d}"
    world.behave(cost_usd=1.5)
    add_tasks(world, 4)
    world.ostler("run", "--all", "-j", "1", code=5)
    add_tasks(world, 2)
    world.ostler("run", "--all", "-j", "1", code=5)
    assert statuses(world) == {"completed": 1, "deferred": 5}
    (message,) = notified(world)
    assert message["reason"].startswith("the day's budget of $1.00 is used up")
    assert "raise budget.day_usd" in message["next"]


@pytest.mark.full
def test_a_probe_is_one_attempt(world: World) -> None:
    """The first call retries; while the provider fails, each probe of all tasks starts one agent."""
    write_models(world, SONNET, more=QUICK)
    world.behave(**BUSY)
    add_tasks(world, 4)
    child = world.start("worker", "-j", "1", **{SHORT_PROBES: "0.5"})
    wait_until(lambda: len(world.started()) >= 6, 60, "no probe was made")
    end(child, STOP)
    starts = [event["time"] for event in world.events() if event["type"] == "attempt_started"][2:6]
    moments = [datetime.fromisoformat(at).timestamp() for at in starts]
    delays = [after - before for before, after in pairwise(moments)]
    assert delays[0] > 0.4 and delays[1] > 0.9 and delays[2] > 1.9
