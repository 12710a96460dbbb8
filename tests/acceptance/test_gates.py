"""Gates in the whole program: a command decides on the commit, and its verdict is kept."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from world import World, busy_below, wait_until


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    (tmp_path / "temporary").mkdir()
    made.environ["TMPDIR"] = str(tmp_path / "temporary")
    yield made
    made.close()


def set_gate(world: World, command: str) -> None:
    (world.root / "ostler.toml").write_text(f"[gates.commands]\nimplement = '''{command}'''\n")


def test_a_gate_that_passes_completes_the_task(world: World) -> None:
    """The verdict names the commit that was checked."""
    set_gate(world, "git log -1 --format=%H; git status --porcelain")
    task = world.new("Add a greeting", "--weight", "trivial")
    world.ostler("run", "--all")
    shown = world.show(task)
    assert shown["status"] == "completed"
    gate = shown["phases"][0]["gate"]
    assert (gate["type"], gate["verdict"], gate["sha"]) == ("command", "pass", shown["commit"])
    log = world.root / ".ostler" / "tasks" / task / "gates" / "implement-1.log"
    assert log.read_text() == f"{shown['commit']}\n"
    assert list((world.root.parent / "temporary").glob("ostler-gate-*")) == []


def test_a_gate_that_always_fails_blocks_the_task(world: World) -> None:
    """Two retries with the output in the next prompt, then a person is needed; it never continues."""
    set_gate(world, "date +%N; echo the greeting is missing; exit 1")
    task = world.new("Add a greeting", "--weight", "trivial")
    world.ostler("run", "--all", code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("blocked", "GATE_REJECTED")
    kinds = [event["type"] for event in world.events(task)]
    counted = [kinds.count(kind) for kind in ("gate_decided", "phase_retried", "task_blocked")]
    assert counted == [3, 2, 1]
    home = world.root / ".ostler" / "tasks" / task
    assert "the greeting is missing" in (home / "retry-context-implement-2.md").read_text()
    prompts = sorted((home / "prompts").glob("implement-*.md"))
    assert len(prompts) == 3 and "the greeting is missing" not in prompts[0].read_text()
    assert all("the greeting is missing" in prompt.read_text() for prompt in prompts[1:])


def test_kill_during_a_gate_asks_it_once_more(world: World, tmp_path: Path) -> None:
    """kill -9 of the run: no second call of the agent, no second commit, one verdict, nothing left."""
    asked = tmp_path / "asked"
    set_gate(world, f"echo asked >> {asked}; test -e {tmp_path}/go || exec sleep 300")
    task = world.new("Add a greeting", "--weight", "trivial")
    run = world.start("run", "--all")
    wait_until(asked.exists, 60, "the gate was never asked")
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait_until(lambda: not busy_below(tmp_path / "temporary"), 60, "the gate's command continues")
    (tmp_path / "go").touch()
    world.ostler("run", "--all")
    shown = world.show(task)
    assert shown["status"] == "completed" and len(shown["attempts"]) == 1
    assert asked.read_text() == "asked\nasked\n"
    assert [event["type"] for event in world.events(task)].count("gate_decided") == 1
    assert world.git("rev-list", "--count", f"main..{shown['branch']}").strip() == "1"
    assert list((tmp_path / "temporary").glob("ostler-gate-*")) == []


def test_show_has_the_checks_that_passed_and_no_phase_that_runs_by_itself(world: World) -> None:
    """A phase of a task that waits has the status of the task, not `running`."""
    (world.root / "ostler.toml").write_text(
        '[gates.checks.lint]\ncommand = "true"\n[gates.phases]\ntest = "human"\n'
    )
    task = world.new("Add a greeting", "--phases", "implement,test")
    world.ostler("run", task, code=4)
    shown = world.ostler("show", task).stdout
    assert "auto: pass, checks: lint (block): true" in shown
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("test ")] == ["needs_review"]
