"""The real claude as a client of `ostler mcp`: on its own, and as the agent of a task."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_world import mcp_config
from ostler.executors.claude.executor import DEFAULT_ENV
from ostler.testing.fake_llm import FakeLlm, call, say
from real_claude import real_world, require_claude
from world import World

pytestmark = pytest.mark.full

STRICT = ("--mcp-config", mcp_config(), "--strict-mcp-config", "--allowedTools", "mcp__ostler")
SUBMIT = call("mcp__ostler__submit", title="Draw the map", body="With all the roads.", weight="trivial")
REPORT = call("mcp__ostler__report", status="complete", reason="It is drawn.")
WRITE = call("Write", file_path="map.txt", content="a road\n")
ANSWER = call("StructuredOutput", status="complete", reason="", summary="I drew it.")


@pytest.fixture
def closing() -> Iterator[list[World]]:
    """Yield projects whose processes are stopped afterwards."""
    worlds: list[World] = []
    yield worlds
    for world in worlds:
        world.close()


def test_claude_creates_a_task_and_lists_it(tmp_path: Path, closing: list[World]) -> None:
    """The task is in the project, and claude gets the command that runs it."""
    with FakeLlm([SUBMIT, call("mcp__ostler__list"), say("It is written down.")]) as llm:
        world = real_world(tmp_path, llm)
        closing.append(world)
        world.ostler("init")
        done = subprocess.run(
            [require_claude(), "--print", *STRICT],
            cwd=world.root,
            env=world.environ | DEFAULT_ENV,
            input="Have the map drawn.",
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
    assert done.stdout == "It is written down.\n", done.stderr
    (task,) = world.json("status")["tasks"]
    assert (task["title"], task["weight"], task["status"]) == ("Draw the map", "trivial", "pending")
    assert llm.prompts[1].holds(f'"next":"ostler run {task["id"]}"')
    assert llm.prompts[2].holds("ostler.status/1")


@pytest.mark.smoke
def test_an_agent_reports_by_its_tool(tmp_path: Path, closing: list[World]) -> None:
    """Within a task the server has one tool, whose report counts."""
    with FakeLlm([WRITE, REPORT, ANSWER]) as llm:
        world = real_world(tmp_path, llm)
        closing.append(world)
        world.environ["OSTLER_EXECUTORS__CLAUDE__ARGS"] = json.dumps(STRICT)
        task = world.new("Draw the map", "--weight", "trivial")
        world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    (printed,) = [line for line in world.events(task) if line["type"] == "agent_reported"]
    assert (printed["attempt"], printed["status"], printed["reason"]) == (1, "complete", "It is drawn.")
    assert [name for name in llm.prompts[0].tools if name.startswith("mcp__")] == ["mcp__ostler__report"]
