"""Questions of an agent reach a person, answers reach the agent, and work without a change is reported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from world import World

ASKS = "I painted it. Which colour do you want?"
DONE = "Done.\n\n<phase_complete>true</phase_complete>"


def prompts(world: World, task: str) -> list[str]:
    """The prompts of a task, in order."""

    def attempt(path: Path) -> str:
        return path.stem.rpartition("-")[2]

    found = (world.root / ".ostler" / "tasks" / task / "prompts").glob("*-[0-9][0-9][0-9].md")
    return [path.read_text("utf-8") for path in sorted(found, key=attempt)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("weight", ["trivial", "small"])
def test_a_question_blocks_and_the_answers_come_back_with_it(world: World, weight: str) -> None:
    """T7, T8: each prompt after an answer has the question before it, in the same session or a new one."""
    second = "Blue it is. Which tone?"
    world.behave(plan=[{"text": ASKS}, {"text": second}, {}])
    task = world.new("Paint", "--weight", weight)
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("blocked", "NEEDS_INPUT")
    assert shown["message"] == "Which colour do you want?"
    world.ostler("resume", task, "-m", "Blue.")
    world.ostler("run", task, code=4)
    assert world.show(task)["message"] == "Which tone?"
    world.ostler("resume", task, "-m", "Dark.")
    world.ostler("run", task)
    first, answered, last = prompts(world, task)
    assert "The answer of a person" not in first
    assert answered.index("> Which colour do you want?") < answered.index("Blue.")
    assert last.index("> Which tone?") < last.index("Dark.")
    if weight == "trivial":
        assert last.index("> Which colour do you want?") < last.index("Blue.") < last.index("> Which tone?")


def test_the_same_answer_without_a_change_blocks(world: World) -> None:
    """T7: after a second identical answer without a change, a person is asked."""
    world.behave(text="I cannot find the file.", edits={})
    task = world.new("Paint", "--weight", "trivial")
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"], len(shown["attempts"])) == ("blocked", "NEEDS_INPUT", 2)
    assert shown["message"].endswith("I cannot find the file.")


def test_the_same_answer_with_new_changes_goes_on(world: World) -> None:
    """An agent with short answers that makes progress is not stopped."""
    world.behave(plan=[{"text": "Working."}, {"text": "Working."}, {"text": "Working."}, {}])
    task = world.new("Paint")
    world.ostler("run", task)
    assert len(world.show(task)["attempts"]) == 4


def test_work_without_a_change_is_reported_once_and_then_reviewed(world: World) -> None:
    """T5: one more iteration that states it, then needs_review with the warning, shown everywhere."""
    world.behave(text=DONE, edits={})
    task = world.new("Paint")
    done = world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"], shown["warnings"]) == ("needs_review", None, ["NO_CHANGES"])
    first, second = prompts(world, task)
    assert "every file is as it was" not in first and "every file is as it was" in second
    for screen in (done.stdout, world.ostler("status").stdout, world.ostler("show", task).stdout):
        assert "NO_CHANGES" in screen
    world.ostler("approve", task)
    world.ostler("run", task)
    assert (world.show(task)["status"], len(world.started())) == ("completed", 2)


def test_a_change_after_the_note_completes_the_task(world: World) -> None:
    """The warning is gone when the files changed."""
    world.behave(plan=[{"text": DONE, "edits": {}}, {}])
    task = world.new("Paint")
    world.ostler("run", task)
    assert (world.show(task)["status"], world.show(task)["warnings"]) == ("completed", [])


@pytest.mark.full
def test_a_rejected_review_of_no_changes_sends_the_work_back(world: World) -> None:
    """A second time without a change is reviewed again, without another note."""
    world.behave(text=DONE, edits={})
    task = world.new("Paint")
    world.ostler("run", task, code=4)
    world.ostler("reject", task, "-m", "Paint the door.")
    world.ostler("run", task, code=4)
    assert world.show(task)["warnings"] == ["NO_CHANGES"]
    assert len(world.started()) == 3
    assert "Paint the door." in prompts(world, task)[2]


def test_a_reason_in_a_report_needs_no_further_call(world: World) -> None:
    """T5: the agent reports why there is nothing to change; a person reads the reason at once."""
    report = f"{sys.executable} -m ostler report --status complete --reason 'the door is red already'"
    world.behave(text=DONE, edits={}, script=report)
    world.environ["OSTLER_SANDBOX__ENV_ALLOW"] = '["PYTHONPATH"]'
    task = world.new("Paint")
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["warnings"], len(world.started())) == ("needs_review", ["NO_CHANGES"], 1)
    assert "the door is red already" in shown["message"]
    world.ostler("approve", task)
    world.ostler("run", task)
    assert (world.show(task)["status"], len(world.started())) == ("completed", 1)
