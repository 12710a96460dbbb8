"""Limits of accounts over tasks, runs and projects: who waits, for how long, and what is printed."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine_choice import ENGINE
from models_world import QUICK, add_tasks, called, codes, play, row, statuses, write_models
from ostler.model.limits.limit import window_for
from ostler.model.limits.window import ReportedWindow, WindowUse
from ostler.model.task import Task
from ostler.project.agents.model_pool import find_models
from ostler.project.project import Project
from ostler.store.accounts.sqlite import open_accounts
from world import STOP, World, end, wait_until

HELD = pytest.mark.one_machine(
    "in a cluster the accounts of the workers decide, and a run waits for the workers"
)

SONNET, GPT = row("sonnet", "claude"), row("gpt", "codex")
PRIORITY = QUICK + '[selection]\nstrategy = "priority"\n'


def used_up(seconds: float) -> dict[str, object]:
    text = f"you have hit your usage limit, try again in {seconds:g} seconds"
    return {"fault": "api_error", "error": 429, "error_message": text}


def report(world: World, model: str, used: float, seconds: float = 3600.0, name: str = "five_hour") -> None:
    """Record the use of a window of the model's account, as a call would."""
    with Project.open(world.root, world.environ, create=True) as project:
        models = {one.name: one for one in find_models(project, Task("", role="")).models}
    found, now = models[model], time.time()
    window = replace(window_for(found, name), model="*")
    accounts = open_accounts(world.environ)
    reported = ReportedWindow(name, used, now + seconds, "warning")
    accounts.note_windows([WindowUse(window, reported, now, found.login.label)])
    accounts.close()


def limits(**settings: object) -> str:
    return "\n[limits]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())


def test_another_project_of_the_user_does_not_call(world: World) -> None:
    """L8: one account is limited in one project; the other one makes no call and defers its task too."""
    beside = World(world.root.parent, "beside")
    for one in (world, beside):
        write_models(one, GPT)
        play(one, "codex", **used_up(7200))
    (first,), (second,) = add_tasks(world, 1), add_tasks(beside, 1)
    world.ostler("run", first, code=5)
    beside.ostler("run", second, code=5)
    assert len(world.started()) == 1
    here, there = world.show(first), beside.show(second)
    assert here["code"] == there["code"] == "QUOTA_EXCEEDED"
    assert (there["status"], there["attempts"]) == ("deferred", [])
    assert there["resumes_at"][:16] == here["resumes_at"][:16]


def test_the_task_continues_in_its_session(world: World) -> None:
    """After the reset the same session is resumed, and no event reports a failure of the task."""
    write_models(world, GPT)
    play(world, "codex", plan=[used_up(1), ""])
    (task,) = add_tasks(world, 1)
    world.ostler("run", task, "--wait")
    shown = world.show(task)
    assert (shown["status"], codes(shown)) == ("completed", [("codex", "QUOTA_EXCEEDED"), ("codex", None)])
    (first, second) = shown["attempts"]
    assert second["resumed"] and second["session_id"] == first["session_id"] != ""
    types = [event["type"] for event in world.events(task)]
    assert not {"task_failed", "phase_failed", "phase_retried"} & set(types)
    assert types.count("provider_unavailable") == types.count("model_recovered") == 1
    (closed,) = [event for event in world.events(task) if event["type"] == "provider_unavailable"]
    assert closed["account"].startswith("codex") and closed["window"] == "quota"
    assert "limit, no call until " in closed["message"]


@pytest.mark.full
@HELD
def test_a_new_task_waits_for_the_reset(world: World) -> None:
    """limits.stop_at: nothing starts, the reason is printed, and the run exits with 5; the value is live."""
    write_models(world, SONNET)
    report(world, "sonnet", 0.96)
    tasks = add_tasks(world, 2)
    done = world.ostler("run", "--all", "--no-wait", code=5)
    (line,) = [line for line in done.stderr.splitlines() if "not started" in line]
    assert line.startswith("2 more tasks were not started: claude")
    assert "five-hour window 96 % used, resets " in line and "limits.stop_at = 0.95" in line
    assert not world.started() and statuses(world) == {"pending": 2}
    shown = world.ostler("show", tasks[0]).stdout
    assert "limits.stop_at = 0.95" in " ".join(shown.split())
    assert shown.endswith(f"Next: ostler run {tasks[0]}   when the window allows it\n")
    assert "five-hour window 96 % used" in world.show(tasks[0])["hold"]
    world.ostler("run", tasks[0], "--no-wait", code=5)
    write_models(world, SONNET, more=QUICK + limits(stop_at=0.97))
    assert world.show(tasks[0])["hold"] is None
    world.ostler("run", "--all")
    assert statuses(world) == {"completed": 2}


def test_a_run_that_waits_starts_them_after_the_reset(world: World) -> None:
    """It prints once why it waits."""
    write_models(world, SONNET)
    # A worker of a cluster takes longer to start.
    report(world, "sonnet", 0.96, seconds=1.0 if ENGINE == "local" else 15.0)
    add_tasks(world, 3)
    done = world.ostler("run", "--all", "--wait")
    assert statuses(world) == {"completed": 3}
    printed = done.stderr + world.read_worker()
    assert printed.count("new tasks wait: claude") == 1


@HELD
def test_a_task_that_has_begun_finishes(world: World) -> None:
    """The window fills up while the task is deferred; it continues, and a new one waits."""
    write_models(world, GPT)
    play(world, "codex", plan=[used_up(1), ""])
    (task,) = add_tasks(world, 1)
    world.ostler("run", task, "--no-wait", code=5)
    report(world, "gpt", 0.99)
    world.ostler("run", task, "--wait")
    assert world.show(task)["status"] == "completed"
    (new,) = add_tasks(world, 1)
    world.ostler("run", new, "--no-wait", code=5)
    assert world.show(new)["status"] == "pending"


@HELD
def test_tasks_of_the_last_priority_use_what_is_left(world: World) -> None:
    """limits.use_before_reset: P3 starts in the last hour before a reset, others at once."""
    write_models(world, SONNET, more=QUICK + limits(use_before_reset=True))
    report(world, "sonnet", 0.3, seconds=7200)
    (low,), (usual,) = add_tasks(world, 1, priority="P3"), add_tasks(world, 1)
    done = world.ostler("run", "--all", "--no-wait", code=5)
    assert "limits.use_before_reset = true" in done.stderr
    assert (world.show(low)["status"], world.show(usual)["status"]) == ("pending", "completed")
    report(world, "sonnet", 0.3, seconds=3000)
    world.ostler("run", "--all", "--no-wait")
    assert world.show(low)["status"] == "completed"


@pytest.mark.full
def test_accounts_are_rotated_only_with_the_setting(world: World, tmp_path: Path) -> None:
    """By default the task waits for its account, and the reason is in its message and in `models`."""
    rows = [row(name, "codex", **{"env.CODEX_HOME": str(tmp_path / name)}) for name in ("work", "home")]
    write_models(world, *rows, more=PRIORITY)
    play(world, "codex", plan=[used_up(7200), ""])
    (task,) = add_tasks(world, 1)
    world.ostler("run", task, code=5)
    assert called(world) == ["codex model-of-work"]
    assert "limits.rotate_accounts = false" in world.show(task)["message"]
    assert "limits.rotate_accounts = false" in world.ostler("models").stdout
    assert "limits.rotate_accounts" in world.json("models")["rotation"]
    write_models(world, *rows, more=PRIORITY + limits(rotate_accounts=True))
    (other,) = add_tasks(world, 1)
    world.ostler("run", other)
    assert called(world)[1:] == ["codex model-of-home"]
    assert "limits.rotate_accounts" not in world.ostler("models").stdout


@pytest.mark.full
def test_one_probe_over_all_projects_and_processes(world: World) -> None:
    """Two workers with two jobs each: no call before the reset, one probe, then all tasks."""
    beside = World(world.root.parent, "beside")
    for one in (world, beside):
        write_models(one, GPT)
    for one in (world, beside):
        play(one, "codex", plan=[used_up(6), *[{"delay_seconds": 2.0}] * 20])
    (first,) = add_tasks(world, 1)
    world.ostler("run", first, code=5)
    for one in (world, beside):
        add_tasks(one, 3)
    workers = [one.start("worker", "-j", "2") for one in (world, beside)]
    for one, count in ((world, 4), (beside, 3)):
        wait_until(lambda one=one, count=count: statuses(one)["completed"] == count, 60, "not completed")
    for worker in workers:
        end(worker, STOP)
    lines = [json.loads(line) for line in world.ledger.read_text().splitlines()]
    assert len(world.started()) == 1 + 7
    events = [*world.events(), *beside.events()]
    rejected, probe, *_ = sorted(event["time"] for event in events if event["type"] == "attempt_started")
    seconds = (datetime.fromisoformat(probe) - datetime.fromisoformat(rejected)).total_seconds()
    assert seconds >= 5.9
    # Its first output is its answer; no other agent starts before it.
    assert [line["event"] for line in lines][:4] == ["start", "end", "start", "edit"]
    assert not [event for event in events if event["type"] == "task_failed"]
