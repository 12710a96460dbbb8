"""The real claude as a client of `ostler mcp`: from outside, and as the agent of a task."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_world import mcp_config
from ostler.executors.claude import SWITCHES
from ostler.testing.fake_llm import FakeLlm, call, say
from real_claude import real_world, require_claude
from world import World

STRICT = ("--mcp-config", mcp_config(), "--strict-mcp-config", "--allowedTools", "mcp__ostler")
SUBMIT = call("mcp__ostler__submit", title="Draw the map", body="With all the roads.", weight="trivial")
REPORT = call("mcp__ostler__report", status="complete", reason="It is drawn.")
WRITE = call("Write", file_path="map.txt", content="a road\n")
ANSWER = call("StructuredOutput", status="complete", reason="", summary="I drew it.")


@pytest.fixture
def closing() -> Iterator[list[World]]:
    """Projects whose processes are ended afterwards."""
    worlds: list[World] = []
    yield worlds
    for world in worlds:
        world.close()


def test_claude_writes_a_task_down_and_lists_it(tmp_path: Path, closing: list[World]) -> None:
    """As a person has it do: the task is in the project, and claude was told that nobody works on it yet."""
    with FakeLlm([SUBMIT, call("mcp__ostler__list"), say("It is written down.")]) as llm:
        world = real_world(tmp_path, llm)
        closing.append(world)
        world.ostler("init")
        done = subprocess.run(
            [require_claude(), "--print", *STRICT],
            cwd=world.root,
            env=world.environ | SWITCHES,
            input="Have the map drawn.",
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
    assert done.stdout == "It is written down.\n", done.stderr
    (task,) = world.json("status")["tasks"]
    assert (task["title"], task["weight"], task["status"]) == ("Draw the map", "trivial", "pending")
    assert llm.asked[1].holds(f"`ostler run {task['id']}`") and llm.asked[2].holds("ostler.status/1")


def test_an_agent_reports_by_its_tool(tmp_path: Path, closing: list[World]) -> None:
    """The settings give claude the server; inside the task that has one tool, whose word counts."""
    with FakeLlm([WRITE, REPORT, ANSWER]) as llm:
        world = real_world(tmp_path, llm)
        closing.append(world)
        world.environ["OSTLER_EXECUTORS__CLAUDE__ARGS"] = json.dumps(STRICT)
        task = world.new("Draw the map", "--weight", "trivial")
        world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    (said,) = [line for line in world.events(task) if line["type"] == "agent_reported"]
    assert (said["attempt"], said["status"], said["reason"]) == (1, "complete", "It is drawn.")
    assert [name for name in llm.asked[0].tools if name.startswith("mcp__")] == ["mcp__ostler__report"]
