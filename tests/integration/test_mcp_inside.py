"""`ostler mcp` inside of a task: an agent has one tool there, and only for its own task."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from mcp import Client, MCPError

from mcp_world import talk, text_of
from world import World

# An agent of two: the second only lives, so that the first can try to speak for it.
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
                                   env={{"PYTHONPATH": os.environ.get("PYTHONPATH", "")}})
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
    """What an agent saw while another task was under way; `ids` are the two tasks."""
    place = world.root.parent
    (place / "agent.py").write_text(AGENT.format(place=str(place)))
    (world.root / "ostler.toml").write_text(
        '[run]\nexecutor = "mine"\n'
        f'[executors.mine]\ntype = "command"\ncommand = "{sys.executable}"\nargs = ["{place}/agent.py"]\n'
    )
    ids = [world.new("First", "--weight", "trivial"), world.new("Second", "--weight", "trivial")]
    done = world.ostler("run", "--all", "-j", "2", code=None)
    assert (place / "seen.json").exists(), done.stdout + done.stderr
    return {"ids": ids} | json.loads((place / "seen.json").read_text())


def test_an_agent_can_only_report_on_its_own_task(world: World, seen: dict[str, Any]) -> None:
    """The processes above it say whose it is: no other tool, no resource, no other task, however it asks."""
    first, second = seen["ids"]
    assert seen["tools"] == ["report"]
    assert "unknown tool 'approve'; use one of report" in seen["approve"]
    assert "unknown tool 'cancel'" in seen["cancel"]
    assert seen["resources"] and seen["read"]
    assert "report: unknown argument `id`" in seen["named"]
    forged = f"claims to belong to attempt 1 of {first} and attempt 1 of {second}"
    for command in ("mcp", "report"):
        code, said = seen[command]
        assert code == 2 and forged in said
    assert seen["told"] == {
        "schema": "ostler.report/1",
        "task_id": first,
        "attempt": 1,
        "status": "complete",
    }
    said = [line for line in world.events() if line["type"] == "agent_reported"]
    assert [(line["task_id"], line["status"], line["reason"]) for line in said] == [
        (first, "complete", "all is drawn")
    ]
    assert {one["status"] for one in world.json("status")["tasks"]} == {"completed"}


def test_marks_in_the_environment_are_enough(world: World) -> None:
    """Also where no process above can be asked; an attempt that is over has no word any more."""
    task = world.new()
    world.ostler("run", task)

    async def conversation(client: Client) -> str:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["report"]
        with pytest.raises(MCPError):
            await client.read_resource(f"ostler://tasks/{task}")
        result = await client.call_tool("report", {"status": "blocked"})
        assert result.is_error
        return text_of(result)

    said = talk(world, conversation, OSTLER_TASK=task, OSTLER_ATTEMPT=f"store:{task}:1")
    assert f"attempt 1 of {task} has ended" in said
    assert "agent_reported" not in {line["type"] for line in world.events(task)}


def test_marks_that_do_not_fit_each_other_are_refused(world: World) -> None:
    """Half of them makes nobody an agent, and opens nothing."""
    refused = world.ostler("mcp", code=2, OSTLER_TASK="a-task", OSTLER_ATTEMPT="store:other:1")
    assert "OSTLER_ATTEMPT is not an attempt of a-task" in refused.stderr
