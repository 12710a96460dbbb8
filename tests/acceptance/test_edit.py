"""A task can be corrected: with options, in an editor, in its task.md, and with another model for a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from world import World


def task_file(world: World, task: str) -> Path:
    return world.root / ".ostler" / "tasks" / task / "task.md"


def first_prompt(world: World, task: str) -> str:
    (found,) = (world.root / ".ostler" / "tasks" / task / "prompts").glob("*-001.md")
    return found.read_text("utf-8")


def test_options_change_an_open_task(world: World) -> None:
    """T15: recorded as an event, written to task.md, and used by the next call."""
    task = world.new("Paint the door", "-d", "Red.")
    world.ostler(
        "edit", task, "--title", "Paint the gate", "-d", "Blue.", "--priority", "P0", "--budget-usd", "3"
    )
    shown = world.show(task)
    assert (shown["title"], shown["priority"]) == ("Paint the gate", "P0")
    (edited,) = [event for event in world.events(task) if event["type"] == "task_edited"]
    assert "title: Paint the door -> Paint the gate" in edited["text"] and "body" in edited["text"]
    assert "Blue." in task_file(world, task).read_text()
    world.ostler("run", task)
    assert "Budget: $3.00." in world.ostler("show", task).stdout
    prompt = first_prompt(world, task)
    assert "Blue." in prompt and "Red." not in prompt and "Paint the gate" in prompt


def test_the_weight_changes_the_plan_only_before_the_first_run(world: World) -> None:
    """Afterwards it is refused, with what to do."""
    world.environ["OSTLER_PHASES__PLANS__MEDIUM"] = '["implement", "test"]'
    task = world.new("Paint")
    world.ostler("edit", task, "--weight", "medium")
    assert [phase["id"] for phase in world.show(task)["phases"]] == ["implement", "test"]
    world.behave(fault="blocked")
    world.ostler("run", task, code=4)
    printed = world.ostler("edit", task, "--weight", "small", code=2)
    assert "weight" in printed.stderr and "after its first run" in printed.stderr
    world.ostler("edit", task, "--title", "Paint more")
    assert world.show(task)["title"] == "Paint more"


def test_an_ended_task_and_a_cycle_are_refused(world: World) -> None:
    """Exit 2, and nothing is recorded."""
    first, second = world.new("One"), world.new("Two")
    world.ostler("edit", second, "--after", first)
    assert world.show(second)["after"] == [first]
    assert "cycle" in world.ostler("edit", first, "--after", second, code=2).stderr
    world.ostler("edit", second, "--after", "")
    assert world.show(second)["after"] == []
    world.ostler("cancel", first)
    assert "only an open task" in world.ostler("edit", first, "--title", "X", code=2).stderr
    assert "nothing to change" in world.ostler("edit", second, "--title", "Two", code=2).stderr


def test_the_editor_gets_the_task_as_a_file(world: World) -> None:
    """Without options; an invalid text is refused with its line."""
    task = world.new("Paint", "-d", "Red.")
    world.ostler("edit", task, EDITOR="sed -i s/Red/Green/")
    assert "Green." in task_file(world, task).read_text()
    printed = world.ostler("edit", task, EDITOR="sed -i s/^title:/tilte:/", code=None)
    assert printed.returncode != 0 and "tilte" in printed.stderr
    assert "deleted" in world.ostler("edit", task, EDITOR="rm", code=2).stderr
    assert "exit status 1" in world.ostler("edit", task, EDITOR="false", code=2).stderr


def test_a_changed_task_file_is_taken_in_by_the_next_run(world: World) -> None:
    """Recorded and printed, and the agent gets the new text."""
    task = world.new("Paint", "-d", "Red.")
    path = task_file(world, task)
    path.write_text(path.read_text().replace("Red.", "Green."))
    done = world.ostler("run", task)
    assert "task edited" in done.stdout and "Green." in first_prompt(world, task)


def test_an_invalid_task_file_is_refused_loudly(world: World) -> None:
    """No agent starts; corrected and resumed, the task runs."""
    task = world.new("Paint", "-d", "Red.")
    path = task_file(world, task)
    text = path.read_text()
    path.write_text(text.replace("title:", "weihgt: huge\ntitle:"))
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("blocked", "TASK_NOT_EXECUTABLE")
    assert "task.md" in shown["message"] and "weihgt" in shown["message"] and not world.started()
    path.write_text(text + "x" * (10 << 20))
    world.ostler("resume", task)
    world.ostler("run", task, code=4)
    assert "task.md is larger than 10.0 MB" in world.show(task)["message"] and not world.started()
    path.write_text(text)
    world.ostler("resume", task)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


@pytest.mark.full
def test_an_emptied_task_file_is_restored(world: World) -> None:
    """A power cut can leave the file empty or filled with zeros: that is no edit, and the task runs."""
    for damage in (b"", b"\0" * 40):
        task = world.new("Paint the door", "-d", "Red.")
        task_file(world, task).write_bytes(damage)
        world.ostler("run", task)
        assert world.show(task)["status"] == "completed"
        assert "Paint the door" in task_file(world, task).read_text()


@pytest.mark.full
def test_run_and_retry_override_the_model(world: World) -> None:
    """Recorded with the task, and used by the attempt."""
    task = world.new("Paint", "--model", "one")
    printed = world.ostler("run", task, "--model", "two")
    assert "model = two" in printed.stderr
    assert world.show(task)["attempts"][0]["model"] == "two"
    world.behave(fault="a18_exit", status=1)
    other = world.new("Again", "--model", "one")
    world.ostler("run", other, code=1)
    world.behave()
    world.ostler("retry", other, "--model", "three")
    world.ostler("run", other)
    assert world.show(other)["attempts"][-1]["model"] == "three"


def test_a_task_file_cannot_raise_the_budget_of_the_settings(world: World) -> None:
    """An agent can write the file."""
    world.environ["OSTLER_BUDGET__TASK_USD"] = "1"
    task = world.new("Paint")
    path = task_file(world, task)
    path.write_text(path.read_text().replace("---\n", "---\nbudget_usd: 50\n", 1))
    world.ostler("run", task, code=4)
    assert "the file cannot raise the budget" in world.show(task)["message"]
    path.write_text(path.read_text().replace("50", "0.5"))
    world.ostler("resume", task)
    world.ostler("run", task)
