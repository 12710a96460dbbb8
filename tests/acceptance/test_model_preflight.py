"""The models of a run are checked before a task is claimed, and tasks start when enough are ready (C27)."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from models_world import QUICK, add_tasks, called, play, row, write_models
from ostler import Ostler
from ostler.executors.registry import ExecutorRegistry
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome
from ostler.project.project import Project
from ostler.testing.mocks import MockExecutor
from world import World

CHECKED = pytest.mark.one_machine("workers do not check the models before they start tasks")

PRIORITY = QUICK + '[selection]\nstrategy = "priority"\n'
GPT, SONNET = row("gpt", "codex"), row("sonnet", "claude")


@pytest.fixture
def pool(world: World) -> World:
    write_models(world, GPT, SONNET, more=PRIORITY)
    play(world, "codex")
    play(world, "claude", edit={"a.txt": "a\n"})
    return world


def wait_before_version(world: World, program: str, released: Path) -> None:
    """Let --version of a program wait for a file, ten seconds at most."""
    real = Path(world.environ[f"OSTLER_{program.upper()}_PATH"])
    slow = world.root.parent / f"slow-{program}"
    slow.write_text(
        '#!/bin/sh\ni=0\nif [ "$1" = --version ]; then\n'
        f'while [ ! -e "{released}" ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done\nfi\n'
        f'exec "{real}" "$@"\n'
    )
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    world.environ[f"OSTLER_{program.upper()}_PATH"] = str(slow)


@CHECKED
def test_a_model_that_is_not_logged_in_is_left_out(pool: World) -> None:
    """It is named with its fix, not called, and the task runs on the other one."""
    play(pool, "codex", logged_in=False)
    (task,) = add_tasks(pool, 1)
    done = pool.ostler("run", task)
    assert "gpt is not used: codex: not logged in  Next: codex login" in done.stderr
    assert called(pool) == ["claude model-of-sonnet"]


@CHECKED
def test_no_task_is_touched_when_no_model_is_ready(pool: World) -> None:
    """One table with each model, its reason and its fix; exit 4, because a person must log in."""
    play(pool, "codex", logged_in=False)
    play(pool, "claude", logged_in=False)
    (task,) = add_tasks(pool, 1)
    before = pool.events(task)
    refused = pool.ostler("run", task, code=4)
    lines = refused.stderr.splitlines()
    assert "ostler: no model is ready; no task was started" in lines
    assert "ostler: gpt     codex   not logged in  codex login" in lines
    assert any(line.startswith("ostler: sonnet  claude  not logged in  claude") for line in lines)
    assert pool.events(task) == before and called(pool) == []
    assert pool.show(task)["status"] == "pending"
    refused = pool.ostler("run", "-p", "Fix it", code=4)
    (created,) = {one["id"] for one in pool.json("status")["tasks"]} - {task}
    assert f"correct it, then: ostler run {created}" in refused.stderr


@CHECKED
def test_tasks_start_before_a_slow_check_ends(pool: World) -> None:
    """The ready model is used at once; the slow one would be preferred and joins later."""
    released = pool.root.parent / "released"
    wait_before_version(pool, "codex", released)
    play(pool, "claude", edit={"a.txt": "a\n"})
    first, second = add_tasks(pool, 2)
    pool.ostler("config", "set", "preflight.settle_seconds", "0")
    pool.ostler("run", first)
    assert called(pool) == ["claude model-of-sonnet"]
    released.touch()
    pool.ostler("config", "set", "preflight.settle_seconds", "9")
    pool.ostler("run", second)
    assert called(pool)[1:] == ["codex model-of-gpt"]


@CHECKED
def test_fewer_models_than_the_minimum_are_refused(pool: World) -> None:
    """preflight.min_models is a promise: the run does not start with fewer."""
    play(pool, "codex", logged_in=False)
    pool.ostler("config", "set", "preflight.min_models", "2")
    (task,) = add_tasks(pool, 1)
    refused = pool.ostler("run", task, code=4).stderr
    assert "only 1 of 2 models are ready, fewer than preflight.min_models = 2; no task was started" in refused
    pool.ostler("config", "set", "preflight.models", "never")
    pool.ostler("run", task)


@CHECKED
def test_a_check_that_calls_the_models_is_opt_in(pool: World) -> None:
    """With call = true a model that does not answer is left out, although its program works."""
    play(pool, "codex", fault="crash")
    pool.ostler("config", "set", "preflight.call", "true")
    (task,) = add_tasks(pool, 1)
    done = pool.ostler("run", task)
    assert "gpt is not used: codex exited with status 1" in done.stderr
    assert [one["executor"] for one in pool.show(task)["attempts"]] == ["claude"]


@CHECKED
def test_one_model_is_not_checked(world: World) -> None:
    """Its first call is the check, so a run starts no other program."""
    play(world, "claude", logged_in=False, edit={"a.txt": "a\n"})
    (task,) = add_tasks(world, 1)
    world.ostler("run", task)
    world.ostler("config", "set", "preflight.models", "always")
    (other,) = add_tasks(world, 1)
    assert "no model is ready" in world.ostler("run", other, code=4).stderr


@CHECKED
def test_an_executor_whose_check_raises_is_left_out(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on with the other model instead of waiting for the result."""
    monkeypatch.setenv("OSTLER_CLAUDE_PATH", pool.environ["OSTLER_CLAUDE_PATH"])
    write_models(pool, row("mine", "mine"), SONNET, more=PRIORITY)
    (task,) = add_tasks(pool, 1)
    messages: list[str] = []

    class Mine(MockExecutor):
        def validate_availability(self) -> None:
            raise RuntimeError("no licence")

    async def run() -> Outcome:
        registry = ExecutorRegistry()
        registry.register("mine", Mine())
        project = Project.open(pool.root, pool.environ)
        made = Ostler(project, pool.environ, executors=registry, print_message=messages.append)
        async with made as ostler, asyncio.timeout(60):
            return await ostler.run(TaskId(task))

    assert asyncio.run(run()).status == "completed"
    assert messages == ["mine is not used: its check failed: RuntimeError: no licence"]
    assert called(pool) == ["claude model-of-sonnet"]
