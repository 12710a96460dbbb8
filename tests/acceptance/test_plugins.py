"""Plugins, through the whole program: their hooks, their effects, and faults that have none."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from world import World

NOTING = """
import json, msgspec, os

class Note:
    capabilities = "A plugin keeps notes of this call."

    def _note(self, hook):
        line = {"kind": type(hook).__name__, **msgspec.to_builtins(hook)}
        with open(os.environ["NOTES"], "a") as file:
            file.write(json.dumps(line) + "\\n")

    on_step = on_tool_call = on_cli_result = on_task_retry = _note

    async def on_agent_response(self, response):
        self._note(response)

class Broken:
    def on_step(self, step):
        raise ValueError("no network")
"""


@pytest.fixture
def world(tmp_path: Path) -> Generator[World]:
    world = World(tmp_path, edit={"greeting.txt": "hello\n"})
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "ostler_note.py").write_text(NOTING)
    world.environ["PYTHONPATH"] = f"{tmp_path / 'plugins'}:{world.environ['PYTHONPATH']}"
    world.environ["NOTES"] = str(tmp_path / "notes.jsonl")
    yield world
    world.close()


def notes(world: World) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(world.environ["NOTES"]).read_text().splitlines()]


def load(world: World, *names: str) -> None:
    listed = ", ".join(f'"ostler_note:{name}"' for name in names)
    (world.root / "ostler.toml").write_text(f"[plugins]\nload = [{listed}]\n")


def test_a_plugin_sees_a_call_from_its_beginning_to_its_end(world: World) -> None:
    """The five steps in order, with the model and the duration; answers, and how the attempt ended."""
    load(world, "Note")
    task = world.new("Add a greeting", "--weight", "trivial")
    world.ostler("run", task)
    seen = notes(world)
    steps = [note for note in seen if note["kind"] == "CallStep"]
    assert [step["step_id"] for step in steps] == [
        "cli_execution_start",
        "model_selected",
        "cli_spawn_start",
        "cli_spawn_end",
        "cli_execution_end",
    ]
    assert {note["task_id"] for note in seen} == {task}
    assert [step["duration_seconds"] is None for step in steps] == [True, True, True, False, False]
    assert {step["context"]["executor"] for step in steps[1:4]} == {"claude"}
    assert "ToolCall" in {note["kind"] for note in seen}
    answers = [note for note in seen if note["kind"] == "AgentResponse"]
    assert [answer["is_partial"] for answer in answers].count(False) == 1
    assert not answers[-1]["is_partial"]
    (ended,) = (note for note in seen if note["kind"] == "CliResult")
    assert (ended["exit_code"], ended["code"], ended["timed_out"]) == (0, None, False)


def test_the_prompt_has_what_plugins_can_do(world: World) -> None:
    """Their texts end the prompt that is sent and stored."""
    load(world, "Note")
    task = world.new("Add a greeting", "--weight", "trivial")
    world.ostler("run", task)
    (prompt,) = (world.root / ".ostler" / "tasks" / task / "prompts").glob("*-0*.md")
    assert prompt.read_text().endswith("# Plugin Capabilities\n\nA plugin keeps notes of this call.\n")


@pytest.mark.full
def test_a_broken_plugin_is_switched_off_and_the_work_goes_on(world: World) -> None:
    """The task completes, the other plugin receives everything, and one sentence reports it."""
    load(world, "Broken", "Note")
    task = world.new("Add a greeting", "--weight", "trivial")
    done = world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert sum(note["kind"] == "CallStep" for note in notes(world)) == 5
    printed = done.stderr + world.read_worker()
    assert printed.count("plugin Broken is disabled for this run") == 1


@pytest.mark.one_machine("in a cluster the worker loads the plugins, and ends")
def test_a_plugin_that_cannot_be_loaded_is_a_mistake_in_the_settings(world: World) -> None:
    """One sentence that names the setting, exit 2, and the task is unchanged."""
    load(world, "Missing")
    task = world.new("Add a greeting", "--weight", "trivial")
    done = world.ostler("run", task, code=2)
    assert 'plugins.load: "ostler_note:Missing" cannot be loaded' in done.stderr
    assert world.show(task)["status"] == "pending"
    load(world, "Note")
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
