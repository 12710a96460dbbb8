"""ostler run --step: a person reviews, edits or stops each start of an agent, and nothing is lost."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from person import Person
from world import World

pytestmark = pytest.mark.one_machine("--step and --break are refused in a cluster")


@pytest.fixture
def world(tmp_path: Path) -> Generator[World]:
    world = World(tmp_path, edit={"greeting.txt": "hello\n"})
    yield world
    world.close()


def step(world: World, *args: str, **environ: str) -> Person:
    return Person(
        [sys.executable, "-m", "ostler", "run", "--step", *args], world.root, world.environ | environ
    )


def editor(tmp_path: Path, script: str) -> str:
    path = tmp_path / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.full
def test_a_person_goes_on_step_by_step(world: World) -> None:
    """Each agent starts after the person's confirmation, one at a time, and the tasks are completed."""
    tasks = [world.new(f"Add greeting {number}", "--weight", "trivial") for number in (1, 2)]
    with step(world, "--all", "-j", "4") as ada:
        for count in (0, 1):
            page = ada.read_until("q stop > ")
            assert "implement" in page
            assert len(world.started()) == count
            ada.type("\n")
        assert ada.leave() == 0
    assert [world.show(task)["status"] for task in tasks] == ["completed"] * 2


def test_an_edited_prompt_is_what_the_agent_reads(world: World, tmp_path: Path) -> None:
    """It is sent, and stored as the prompt of the attempt."""
    task = world.new("Add a greeting", "--weight", "trivial")
    with step(world, task, EDITOR=editor(tmp_path, 'echo "Say it in French." >> "$1"')) as ada:
        ada.answer("e\n")
        ada.answer("\n")
        assert ada.leave() == 0
    prompts = list((world.root / ".ostler" / "tasks" / task / "prompts").glob("implement-*.md"))
    assert [path.read_text().endswith("Say it in French.\n") for path in prompts] == [True]
    place = prompts[0].parent.resolve()
    assert (place / "current-prompt.md").read_text() == prompts[0].read_text()
    assert "\n+Say it in French.\n" in (place / "prompt-changes.log").read_text()
    assert f"prompt   {place / 'current-prompt.md'}" in ada.seen and "attempt  1" in ada.seen
    assert "model    the agent's default" in ada.seen


@pytest.mark.full
def test_stopping_leaves_the_task_to_be_resumed(world: World) -> None:
    """No agent was started; the task is pending and the next run completes it."""
    task = world.new("Add a greeting", "--weight", "trivial")
    with step(world, task) as ada:
        ada.answer("q\n")
        assert ada.leave() == 130
    assert world.started() == []
    assert world.show(task)["status"] == "pending"
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


def test_ctrl_c_at_the_question_stops_in_good_order(world: World) -> None:
    """As in any other part of a run."""
    task = world.new("Add a greeting", "--weight", "trivial")
    with step(world, task) as ada:
        ada.answer("\x03")
        assert ada.leave() == 130
    assert (world.show(task)["status"], world.started()) == ("pending", [])


def test_ctrl_c_in_the_editor_belongs_to_the_editor(world: World, tmp_path: Path) -> None:
    """The run continues after the editor has ended."""
    task = world.new("Add a greeting", "--weight", "trivial")
    script = "trap 'echo HEARD' INT; echo EDITING; read line; read line"
    with step(world, task, EDITOR=editor(tmp_path, script + "; exit 0")) as ada:
        ada.answer("e\n")
        ada.read_until("EDITING")
        ada.type("\x03")
        ada.read_until("HEARD")
        ada.type("\n\n")
        ada.answer("\n")
        assert ada.leave() == 0
    assert world.show(task)["status"] == "completed"


def stop_at(world: World, *args: str) -> Person:
    return Person([sys.executable, "-m", "ostler", "run", *args], world.root, world.environ)


def test_a_breakpoint_stops_at_its_phase_only(world: World) -> None:
    """The other phase runs without a question."""
    task = world.new("Add a greeting", "--phases", "implement,test")
    with stop_at(world, task, "--break", "test") as ada:
        page = ada.read_until("q stop > ")
        assert len(world.started()) == 1 and "s step" in page
        ada.type("\n")
        assert ada.leave() == 0
    assert world.show(task)["status"] == "completed"


def test_an_agent_is_stopped_at_a_tool_until_the_person_answers(world: World) -> None:
    """Its processes do not run meanwhile; k kills the attempt, and the retry completes the task."""
    world.behave(edit={"greeting.txt": "hello\n"}, plan=[{"fault": "a1_hangs"}, {"delay_seconds": 2}])
    task = world.new("Add a greeting", "--weight", "trivial")
    with stop_at(world, task, "--break", "tool:edit") as ada:
        page = ada.read_until("q stop > ")
        assert "tool     Edit" in page
        (listed,) = world.json("ps")["attempts"]
        assert psutil.Process(listed["pid"]).status() == psutil.STATUS_STOPPED
        ada.type("k\n")
        ada.read_until("q stop > ")
        ada.type("c\n")
        assert ada.leave() == 0
    assert [one["code"] for one in world.show(task)["attempts"]] == ["AGENT_KILLED", None]


@pytest.mark.full
@pytest.mark.parametrize("which", [("--all",), ("-p", "Add another greeting")])
def test_a_breakpoint_in_an_unknown_phase_is_refused(world: World, which: tuple[str, ...]) -> None:
    """Exit 2 before an agent starts, and no task is created."""
    world.new("Add a greeting", "--phases", "implement,test")
    with stop_at(world, *which, "--break", "implemnt") as ada:
        assert "did you mean --break implement?" in ada.read_until("implement?")
        assert ada.leave() == 2
    assert not world.started() and len(world.json("status")["tasks"]) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pre-prompt",), "--break needs a terminal"),
        (("tool:",), '"tool:" is not a breakpoint'),
        (("",), '"" is not a breakpoint'),
        (("phase:test",), '"phase:test" is not a breakpoint'),
    ],
)
def test_a_wrong_breakpoint_is_refused(world: World, words: tuple[str, ...], message: str) -> None:
    """Exit 2 with one sentence; no agent starts."""
    task = world.new()
    given = [part for word in words for part in ("--break", word)]
    assert message in world.ostler("run", task, *given, code=2).stderr
    assert not world.started()
