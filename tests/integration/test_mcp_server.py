"""`ostler mcp` from outside of a task, with the official package's own client."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError, Tool

from mcp_world import talk, text_of, use
from ostler.project.actions import ACTIONS
from world import World

TOOLS = {"submit", "list", "show", *ACTIONS}
READERS = {"list", "show"}


def test_tools_are_described_for_a_model(world: World) -> None:
    """Each one has a schema of what it takes and gives, and hints that are true; report is not among them.

    There is no project: a client that is started anywhere keeps its server, and nothing is made on the way.
    """

    async def conversation(client: Client) -> list[Tool]:
        refused = await client.call_tool("submit", {"title": "x"})
        assert refused.is_error and "no Ostler project in" in text_of(refused)
        assert "Next: create one: ostler init" in text_of(refused)
        return (await client.list_tools()).tools

    tools = talk(world, conversation, mode="legacy")  # the handshake of most clients
    assert not (world.root / ".ostler").exists()
    assert {tool.name for tool in tools} == TOOLS
    assert {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint} == READERS
    assert [t.name for t in tools if t.annotations and t.annotations.destructive_hint] == ["cancel"]
    for tool in tools:
        assert tool.title and tool.description and tool.output_schema
        for schema in (tool.input_schema, tool.output_schema):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        for argument in tool.input_schema["properties"].values():
            assert argument["description"] and ("type" in argument or "anyOf" in argument)


def test_a_task_is_written_down_and_steered(world: World) -> None:
    """What the tools say is what the command line says, and no agent is started."""
    world.ostler("init")

    async def conversation(client: Client) -> str:
        first = await use(client, "submit", title="Draw the map", weight="trivial", priority="P1")
        second = await use(client, "submit", title="Fold it", after=[first["id"]], budget_usd=2)
        assert (second["schema"], second["waits_for"]) == ("ostler.task/1", [first["id"]])
        assert first["next"] == f"ostler run {first['id']}"
        assert (await use(client, "pause", id="draw"))["status"] == "paused"
        assert (await use(client, "resume", id="draw", text="Use ink."))["status"] == "pending"
        cancelled = await use(client, "cancel", id="draw", reason="no paper")
        assert (cancelled["status"], cancelled["code"]) == ("cancelled", "ABORTED")
        assert (await use(client, "retry", id="draw"))["status"] == "pending"
        listed = await use(client, "list", filter="MAP")
        assert [(row["id"], row["status"]) for row in listed["tasks"]] == [(first["id"], "pending")]
        assert "No run is active in this project" in listed["next"]
        some = await use(client, "list", status=["pending"], limit=1, compact=False)
        assert (some["total"], len(some["tasks"]), some["tasks"][0]["weight"]) == (2, 1, "trivial")
        return first["id"]

    task = talk(world, conversation)
    shown = world.show(task)
    assert (shown["title"], shown["priority"], shown["status"]) == ("Draw the map", "P1", "pending")
    assert world.started() == []
    world.check_store()


def test_a_person_decides_through_it(world: World) -> None:
    """What waits at a gate is rejected with a reason, done again by a run elsewhere, and approved."""
    world.environ["OSTLER_GATES__DEFAULT"] = "human"
    task = world.new()
    world.ostler("run", task, code=4)

    async def conversation(client: Client) -> None:
        result = await client.call_tool("show", {"id": task})
        step = f"ostler diff {task}   and then   ostler approve {task}   or   ostler reject {task} -m TEXT"
        assert result.structured_content["next"] == step and f"Next: {step}" in text_of(result)
        assert (await use(client, "reject", id=task, text="in French"))["status"] == "revision"
        await asyncio.to_thread(world.ostler, "run", task, code=4)
        approved = await use(client, "approve", id=task)
        assert approved["phases"][0]["gate"]["verdict"] == "pass"
        await asyncio.to_thread(world.ostler, "run", task)
        shown = await use(client, "show", id=task)
        assert (shown["status"], len(shown["attempts"])) == ("completed", 2)
        assert shown["next"] == f"ostler diff {task}"

    talk(world, conversation)


def test_a_mistake_is_an_answer_that_says_what_to_do(world: World) -> None:
    """What is wrong, where, and the next step; nothing is written down."""
    world.ostler("init")

    async def conversation(client: Client) -> dict[str, str]:
        asked: dict[str, tuple[str, dict[str, Any]]] = {
            "unknown id": ("show", {"id": "nope"}),
            "unknown argument": ("submit", {"titel": "x"}),
            "missing argument": ("submit", {}),
            "blank title": ("submit", {"title": "  "}),
            "unknown executor": ("submit", {"title": "x", "executor": "clade"}),
            "no budget": ("submit", {"title": "x", "budget_usd": 0}),
            "no reason": ("reject", {"id": "x"}),
        }
        said: dict[str, str] = {}
        for name, (tool, arguments) in asked.items():
            result = await client.call_tool(tool, arguments)
            assert result.is_error and result.structured_content["schema"] == "ostler.error/1"
            said[name] = text_of(result)
        await use(client, "submit", title="A real one")
        refused = await client.call_tool("approve", {"id": "a-real"})
        said["not asked"] = text_of(refused)
        with pytest.raises(MCPError, match="unknown tool 'run'; use one of submit, list"):
            await client.call_tool("run", {"id": "a-real"})
        return said

    said = talk(world, conversation)
    assert said["unknown id"] == "USAGE: no task nope. Next: run ostler status to see the tasks"
    assert "submit: unknown argument `titel`. Next: expected title, body" in said["unknown argument"]
    assert "submit: missing argument `title`" in said["missing argument"]
    assert "a task needs a title" in said["blank title"]
    assert "clade" in said["unknown executor"]
    assert "budget_usd" in said["no budget"]
    assert "reject: missing argument `text`" in said["no reason"]
    assert "is pending: it is not waiting for a decision. Next: ostler show" in said["not asked"]
    assert len(world.json("status")["tasks"]) == 1


def test_tasks_and_transcripts_are_resources(world: World) -> None:
    """By their addresses: the list, a task as `show --json` has it, and what its agent said."""
    task = world.new("Add a greeting")
    world.ostler("run", task)
    shown = world.show(task)

    async def conversation(client: Client) -> None:
        named = [str(one.uri) for one in (await client.list_resources()).resources]
        assert named == ["ostler://tasks", f"ostler://tasks/{task}"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == [
            "ostler://tasks/{id}",
            "ostler://tasks/{id}/transcript",
        ]
        listed = json.loads(await read(client, "ostler://tasks"))
        assert [row["id"] for row in listed["tasks"]] == [task]
        assert json.loads(await read(client, f"ostler://tasks/{task}")) == shown
        transcript = await read(client, f"ostler://tasks/{task}/transcript")
        assert "Edit fake-agent.txt" in transcript and "Done." in transcript
        for nowhere in ("ostler://tasks/nope", "ostler://tasks/", "ostler://x", f"ostler://tasks/{task}/x"):
            with pytest.raises(MCPError, match="Next: "):
                await client.read_resource(nowhere)

    talk(world, conversation)


async def read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    return content.text  # type: ignore[union-attr]


def test_stdout_has_nothing_but_the_protocol(world: World) -> None:
    """What is no JSON is answered or passed over, and the end of stdin is a quiet end."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    done = world.ostler("mcp", stdin=json.dumps(asked) + "\nnot json\n")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0]["result"]["serverInfo"]["name"] == "ostler"
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}


def test_ctrl_c_ends_it_at_once(world: World) -> None:
    """Although a thread waits for a client that says nothing."""
    child = subprocess.Popen(
        [sys.executable, "-m", "ostler", "mcp"],
        cwd=world.root,
        env=world.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin and child.stdout
    with child, child.stdin, child.stdout:
        child.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        child.stdin.flush()
        assert child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == -signal.SIGINT


def test_without_the_package_it_says_what_to_install(world: World) -> None:
    """One sentence and the command; everything else works without it."""
    fake = world.root.parent / "without" / "mcp"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')")
    path = f"{fake.parent}:{world.environ['PYTHONPATH']}"
    refused = world.ostler("mcp", code=2, PYTHONPATH=path)
    assert "needs the Python package mcp" in refused.stderr and "pip install 'ostler[mcp]'" in refused.stderr
    assert refused.stdout == ""
    world.ostler("--help", PYTHONPATH=path)
