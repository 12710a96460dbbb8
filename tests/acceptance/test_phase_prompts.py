"""C104: the prompt of a phase is in the task, in the settings, in a file of the project, or built in."""

from __future__ import annotations

from pathlib import Path

import pytest

from world import World

TASK = "---\ntitle: Paint\nprompts:\n  implement: |\n    Paint {{TASK_ID}} blue.\n---\n"
SETTINGS = '[phases.prompts]\nimplement = "Paint {{TASK_TITLE}} green."\n'


def write(world: World, task: str = TASK, settings: str = SETTINGS) -> Path:
    (world.root / "ostler.toml").write_text(settings)
    file = world.root.parent / "task.md"
    file.write_text(task)
    return file


def run(world: World, *args: str) -> tuple[str, str]:
    """Return the prompt of the first call and the line of `ostler show` about it."""
    task = world.ostler("new", *args).stdout.strip()
    world.ostler("run", task)
    prompt = (world.root / ".ostler" / "tasks" / task / "prompts" / "implement-001.md").read_text()
    line = next(one for one in world.ostler("show", task).stdout.splitlines() if "prompts " in one)
    return prompt, line.split(maxsplit=1)[1]


def test_the_first_that_exists_is_used(world: World) -> None:
    """Task, settings, file, built-in, in this order; `show` prints which one."""
    own = world.root / ".agents" / "prompts" / "implement.md"
    own.parent.mkdir(parents=True)
    own.write_text("Paint it red.")
    prompt, source = run(world, "-f", str(write(world)))
    assert "Paint paint-" in prompt and "blue." in prompt
    assert source == "implement: prompts.implement of the task"
    prompt, source = run(world, "Door")
    assert "Paint Door green." in prompt and source == "implement: phases.prompts.implement"
    write(world, settings="")
    prompt, source = run(world, "Door")
    assert "Paint it red." in prompt and source == "implement: .agents/prompts/implement.md"
    own.unlink()
    prompt, source = run(world, "Door")
    assert "This phase: implement" in prompt and source == "built-in"


WRONG = {
    SETTINGS.replace("TITLE", "TITEL"): "ostler.toml:2: phases.prompts.implement:1: unknown variable",
    SETTINGS.replace("implement", "implment"): "ostler.toml:2: phases.prompts.implment: no phase has this",
}


@pytest.mark.parametrize("settings", WRONG)
def test_a_mistake_in_the_settings_names_its_line(settings: str, world: World) -> None:
    """`config validate` and `new` report it before an agent runs."""
    write(world, settings=settings)
    assert "ostler.toml:2: phases.prompts" in world.ostler("config", "validate", code=2).stderr
    assert WRONG[settings] in world.ostler("new", "Door", code=2).stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("TASK_ID", "TASK_IDD"), "task.md:3: prompts has a mistake in implement, line 1: unknown variable"),
        (("implement:", "validate:"), "prompts: the task has no phase 'validate'"),
        (("|\n    Paint {{TASK_ID}} blue.", "3"), "task.md:3: prompts must have a text for implement"),
    ],
)
def test_a_mistake_in_the_task_is_refused(change: tuple[str, str], message: str, world: World) -> None:
    """Nothing is created."""
    file = write(world, TASK.replace(*change))
    assert message in world.ostler("new", "-f", str(file), code=2).stderr
    assert not [*(world.root / ".ostler").glob("tasks/*")]
