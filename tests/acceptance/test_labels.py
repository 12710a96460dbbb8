"""The label of a task names the workers that may run it, on several machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from document_world import DocumentWorld
from world import World

UNUSED = 'the label gpu has no effect while engine.kind is "local": this machine runs the task'


@pytest.mark.one_machine("in a cluster a label has an effect")
def test_a_label_of_one_machine_has_a_warning(world: World) -> None:
    """It says that the label has no effect."""
    assert UNUSED in world.ostler("new", "Train", "--label", "gpu").stderr


def test_a_task_has_a_label(world: World) -> None:
    """It is in show, in the list by label and in task.md."""
    task = world.new("Train", "--label", "gpu")
    other = world.new("Paint")
    assert world.show(task)["given"]["label"] == "gpu"
    assert "label gpu" in world.ostler("show", task).stdout
    listed = world.json("status", "--label", "gpu")
    assert [one["id"] for one in listed["tasks"]] == [task]
    assert 'label: "gpu"' in (world.root / ".ostler" / "tasks" / task / "task.md").read_text()
    world.ostler("set", task, "label=")
    world.ostler("set", other, "label=cpu")
    assert [world.show(one)["given"]["label"] for one in (task, other)] == [None, "cpu"]


def test_a_label_that_no_worker_can_have_is_refused(world: World) -> None:
    """Exit 2, and nothing is created."""
    refused = world.ostler("new", "Train", "--label=GPU", code=2).stderr
    assert "invalid label 'GPU': expected up to 32 lower-case letters" in refused
    (world.root / "task.md").write_text("---\ntitle: Train\nlabel: a.b\n---\n")
    assert "invalid label" in world.ostler("new", "-f", "task.md", code=2).stderr
    assert not (world.root / ".ostler").exists()


def test_steps_of_a_pipeline_have_labels(tmp_path: Path) -> None:
    """A step has its own label or that of the pipeline; an invalid one is refused with its line."""
    world = DocumentWorld(tmp_path)
    world.pipeline("launch", "label: cpu\ngoal: Sell hay\nsteps: [research, {skill: copy, label: gpu}]\n")
    plan = world.json("pipeline", "run", "launch", "--dry-run")
    assert [task["label"] for task in plan["tasks"]] == ["cpu", "gpu"]
    world.pipeline("launch", "goal: Sell hay\nsteps:\n  - skill: copy\n    label: G P U\n")
    assert "launch.yaml:4: invalid label" in world.ostler("pipeline", "run", "launch", code=2).stderr
    world.close()


@pytest.mark.parametrize("option", ["--queue", "--labels"])
def test_a_local_worker_has_no_queue_and_no_labels(world: World, option: str) -> None:
    """An option without effect is refused with the setting that gives it one."""
    refused = world.ostler("worker", "--once", option, "gpu", code=2).stderr
    assert f'{option} needs engine.kind = "temporal"' in refused
