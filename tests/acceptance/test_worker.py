"""The worker: runs due tasks, starts scheduled ones, and stops in order."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from document_world import DocumentWorld, writing
from world import INTERRUPT, STOP, World, end, wait_until

EVERY_MINUTE = '---\ntitle: Tidy up\nschedule: "* * * * *"\n---\n\nAll of it.\n'


def put(world: World, name: str, text: str) -> None:
    path = world.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def titles(world: World, status: str) -> list[str]:
    return [task["title"] for task in world.json("status")["tasks"] if task["status"] == status]


@pytest.mark.full
def test_once_runs_what_is_due_and_ends(world: World) -> None:
    """Recorded tasks, and those of this minute; a second round has nothing to do in it."""
    put(world, ".agents/tasks/tidy.md", EVERY_MINUTE)
    world.new("Add a greeting")
    began = time.time() // 60
    world.ostler("worker", "--once")
    assert sorted(titles(world, "completed")) == ["Add a greeting", "Tidy up"]
    world.ostler("worker", "--once")
    minutes = time.time() // 60 - began + 1
    assert 1 <= titles(world, "completed").count("Tidy up") <= min(2, minutes)


def test_once_as_json(world: World) -> None:
    """Events line by line, then each task, as `run --json` has it."""
    task = world.new("Add a greeting")
    lines = [json.loads(line) for line in world.ostler("worker", "--once", "--json").stdout.splitlines()]
    assert {line["schema"] for line in lines} == {"ostler.event/1", "ostler.task/1"}
    assert (lines[-1]["id"], lines[-1]["status"]) == (task, "completed")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("signal", "code"), [(INTERRUPT, 130), (STOP, 143)])
def test_it_continues_until_a_signal_ends_it(world: World, signal: int, code: int) -> None:
    """Tasks created while it is idle are run; then a signal ends it."""
    child = world.start("worker")
    for title in ("First", "Second"):
        world.new(title)
        wait_until(lambda title=title: title in titles(world, "completed"), 60, f"{title} is not done")
    assert end(child, signal) == code
    world.check_store()


@pytest.mark.one_machine("in a cluster a worker starts the task, and records a missing agent as its failure")
def test_a_missing_agent_is_reported_once_and_others_go_on(world: World) -> None:
    """Tasks that cannot start wait; the worker continues with the others."""
    world.environ["OSTLER_CODEX_PATH"] = str(world.root / "nothing-here")
    waits = world.new("For codex", "--executor", "codex")
    child = world.start("worker")
    done = world.new("For claude")
    wait_until(lambda: world.show(done)["status"] == "completed", 90, "it is not done")
    assert end(child, INTERRUPT) == 130
    assert world.show(waits)["status"] == "pending"
    printed = (world.root.parent / "err.txt").read_text().splitlines()
    assert len(printed) == len(set(printed)) <= 3


def test_stopped_at_work_it_keeps_all(world: World) -> None:
    """The agent is ended, and the next run continues."""
    world.behave(fault="a1_hangs")
    task = world.new("Hang")
    child = world.start("worker")
    wait_until(world.started, 60, "no agent was started")
    assert end(child, INTERRUPT) == 130
    assert world.show(task)["status"] == "pending"


@pytest.mark.full
def test_two_workers_begin_each_time_once(world: World) -> None:
    """kill -9 of one of them in between changes nothing."""
    put(world, ".agents/tasks/tidy.md", EVERY_MINUTE)
    first = world.start("worker", OSTLER_FAILPOINT="schedule.begun:kill")
    second = world.start("worker")
    assert first.wait(60) == -9
    wait_until(lambda: titles(world, "completed"), 60, "nothing was done")
    assert end(second, INTERRUPT) == 130
    tasks = [task["id"] for task in world.json("status")["tasks"]]
    assert all(re.fullmatch(r"tidy-up-20\d{10}", task) for task in tasks), "a minute occurred twice"


def test_a_pipeline_on_schedule(tmp_path: Path) -> None:
    """All its steps run, under the name of its time."""
    world = DocumentWorld(tmp_path)
    world.pipeline("weekly", 'schedule: "* * * * *"\ngoal: Sell hay\nsteps: [research, copy]\n')
    with writing(world):
        world.ostler("worker", "--once")
    runs = world.json("pipeline", "status")["pipelines"]
    assert runs[0]["run"].startswith("weekly-20") and runs[0]["status"] == "completed"
    world.close()


@pytest.mark.full
def test_the_schedules_at_a_glance(world: World) -> None:
    """Each with its next time, local and short; --json has it in UTC."""
    world.ostler("init")
    assert "No schedules." in world.ostler("worker", "--list").stdout
    put(world, ".agents/tasks/tidy.md", EVERY_MINUTE.replace("* * * * *", "0 6 * * 1"))
    shown = world.ostler("worker", "--list").stdout
    assert "0 6 * * 1" in shown and ".agents/tasks/tidy.md:3" in shown and " 06:00" in shown
    (line,) = world.json("worker", "--list")["schedules"]
    assert (line["name"], line["kind"]) == ("tidy", "task") and line["next"].endswith(":00.000Z")


def test_a_bad_schedule_file_is_skipped(world: World) -> None:
    """It is named with file and line, and the tasks of other files run; --once ends with 2."""
    put(world, ".agents/tasks/tidy.md", EVERY_MINUTE.replace("* * * * *", "0 25 * * *"))
    put(world, ".agents/tasks/other.md", EVERY_MINUTE)
    done = world.ostler("worker", "--once", code=2)
    assert ".agents/tasks/tidy.md:3: schedule: '0 25 * * *': bad hour" in done.stderr
    (task,) = world.json("status")["tasks"]
    assert (task["title"], task["status"]) == ("Tidy up", "completed")
    listed = world.json("worker", "--list")
    assert [one["name"] for one in listed["schedules"]] == ["other"] and len(listed["skipped"]) == 1


@pytest.mark.full
def test_a_fault_of_the_repository_is_reported_once_and_waited_for(world: World) -> None:
    """The journal does not grow while it lasts; the worker continues when the repository is repaired."""
    config = world.root / ".git" / "config"
    before = config.read_text()
    world.behave(plan=[{"script": f"echo '[broken' >> {config}"}, {}])
    task = world.new()
    worker = world.start("worker")
    files = [world.root.parent / name for name in ("out.txt", "err.txt")]
    wait_until(lambda: any("keep their progress" in f.read_text() for f in files), 30, "it is not reported")
    assert len(world.events(task)) < 20
    config.write_text(before)
    world.new("Second")  # a change of the journal starts the next run
    wait_until(lambda: len(titles(world, "completed")) == 2, 60, "it does not continue")
    assert len(world.started()) == 2, "a paid answer was dropped"
    assert end(worker, STOP) == 143


@pytest.mark.full
def test_a_running_worker_uses_changed_settings(world: World) -> None:
    """Notifications and a corrected model too; none of them needs a new start (C140)."""
    model = '[[models]]\nname = "only"\nexecutor = "claude"\nmodel = "{}"\n'
    put(world, "ostler.toml", model.format("a"))
    child = world.start("worker")
    first = world.new("First")
    wait_until(lambda: world.show(first)["status"] == "completed", 90, "it is not done")
    notify = '[[notify]]\non = ["completed"]\ncommand = ["sh", "-c", "cat >> done.ndjson"]\n'
    put(world, "ostler.toml", model.format("b") + notify)
    time.sleep(2)  # a run compares the files twice a second
    second = world.new("Second")
    wait_until((world.root / "done.ndjson").exists, 90, "no notification")
    assert {one["model"] for one in world.show(second)["attempts"]} == {"b"}
    assert end(child, INTERRUPT) == 130
    sent = [json.loads(line) for line in (world.root / "done.ndjson").read_text().splitlines()]
    assert [one["task"]["id"] for one in sent] == [second]
