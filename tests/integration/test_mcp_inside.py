"""`ostler mcp` inside a task: an agent has one tool there, and only for its own task."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

import ostler
from mcp_world import talk, text_of
from world import World

SOURCE = str(Path(ostler.__file__).parents[1])

# An agent of two tasks: the second only runs, so that the first can try to report for it.
AGENT = """
import asyncio, json, os, pathlib, subprocess, sys, time
from mcp import Client, MCPError, StdioServerParameters, stdio_client

place = pathlib.Path({place!r})
task = os.environ["OSTLER_TASK"]


def wait_for(path):
    deadline = time.monotonic() + 60
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline, path
        time.sleep(0.02)
    return path.read_text()


def forge(other, *command):
    marks = {{"OSTLER_TASK": other, "OSTLER_ATTEMPT": "x:" + other + ":1"}}
    told = subprocess.run([sys.executable, "-m", "ostler", *command], env=os.environ | marks,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return [told.returncode, told.stderr]


async def refusal(doing):
    try:
        await doing
    except MCPError as error:
        return str(error)


async def main(other):
    # as most clients do, it hands nothing of its environment on
    server = StdioServerParameters(command=sys.executable, args=["-m", "ostler", "mcp"], cwd=os.getcwd(),
                                   env={{"PYTHONPATH": {source!r}}})
    seen = {{"mcp": forge(other, "mcp"), "report": forge(other, "report", "--status", "blocked")}}
    async with Client(stdio_client(server)) as client:
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        seen["approve"] = await refusal(client.call_tool("approve", {{"id": task}}))
        seen["cancel"] = await refusal(client.call_tool("cancel", {{"id": other}}))
        seen["resources"] = await refusal(client.list_resources())
        seen["read"] = await refusal(client.read_resource("ostler://tasks"))
        named = await client.call_tool("report", {{"status": "complete", "id": other}})
        seen["named"] = named.content[0].text
        told = await client.call_tool("report", {{"status": "complete", "reason": "all is drawn"}})
        seen["told"] = told.structured_content
    (place / "seen.json").write_text(json.dumps(seen))


pathlib.Path(task + ".txt").write_text("x")
if task.startswith("second"):
    (place / "second").write_text(task)
    wait_for(place / "over")
else:
    try:
        asyncio.run(main(wait_for(place / "second")))
    finally:
        (place / "over").write_text("over")
"""


@pytest.fixture
def seen(world: World) -> dict[str, Any]:
    """Return what an agent found while another task was running; `ids` are the two tasks."""
    place = world.root.parent
    (place / "agent.py").write_text(AGENT.format(place=str(place), source=SOURCE))
    (world.root / "ostler.toml").write_text(
        '[run]\nexecutor = "mine"\n'
        f'[executors.mine]\ntype = "command"\ncommand = "{sys.executable}"\nargs = ["{place}/agent.py"]\n'
    )
    ids = [world.new("First", "--weight", "trivial"), world.new("Second", "--weight", "trivial")]
    done = world.ostler("run", "--all", "-j", "2", code=None)
    assert (place / "seen.json").exists(), done.stdout + done.stderr
    return {"ids": ids} | json.loads((place / "seen.json").read_text())


@pytest.mark.full
def test_an_agent_can_only_report_on_its_own_task(world: World, seen: dict[str, Any]) -> None:
    """Its parent processes identify its task: no other tool, resource or task, for any request."""
    first, second = seen["ids"]
    assert seen["tools"] == ["report", "submit"]
    assert "unknown tool 'approve'; use one of report, submit" in seen["approve"]
    assert "unknown tool 'cancel'" in seen["cancel"]
    assert seen["resources"] and seen["read"]
    assert "report: unknown argument `id`" in seen["named"]
    forged = f"claims to belong to attempt 1 of {first} and attempt 1 of {second}"
    for command in ("mcp", "report"):
        code, printed = seen[command]
        assert code == 2 and forged in printed
    assert seen["told"] == {
        "schema": "ostler.report/1",
        "task_id": first,
        "attempt": 1,
        "status": "complete",
    }
    printed = [line for line in world.events() if line["type"] == "agent_reported"]
    assert [(line["task_id"], line["status"], line["reason"]) for line in printed] == [
        (first, "complete", "all is drawn")
    ]
    assert {one["status"] for one in world.json("status")["tasks"]} == {"completed"}


def test_marks_in_the_environment_are_enough(world: World) -> None:
    """Also if no parent process can be read; an attempt that has ended cannot report any more."""
    task = world.new()
    world.ostler("run", task)

    async def conversation(client: Client) -> str:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["report", "submit"]
        with pytest.raises(MCPError):
            await client.read_resource(f"ostler://tasks/{task}")
        result = await client.call_tool("report", {"status": "blocked"})
        assert result.is_error
        return text_of(result)

    printed = talk(world, conversation, OSTLER_TASK=task, OSTLER_ATTEMPT=f"store:{task}:1")
    assert f"attempt 1 of {task} has ended" in printed
    assert "agent_reported" not in {line["type"] for line in world.events(task)}


def test_marks_that_do_not_fit_each_other_are_refused(world: World) -> None:
    """A part of them does not identify an agent, and allows nothing."""
    refused = world.ostler("mcp", code=2, OSTLER_TASK="a-task", OSTLER_ATTEMPT="store:other:1")
    assert "OSTLER_ATTEMPT is not an attempt of a-task" in refused.stderr
