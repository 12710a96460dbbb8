"""`ostler mcp` outside of a task, with the client of the official package."""

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

REVIEWS = ("review", "comment", "send_review")
TOOLS = {"submit", "list", "show", "edit", "preflight", "retry_many", *REVIEWS, *ACTIONS}
READERS = {"list", "show", "preflight", "review"}


def test_tools_are_described_for_a_model(world: World) -> None:
    """Each one has a schema of its input and output, and correct hints; report is not among them.

    There is no project: a client that is started anywhere keeps its server, and nothing is created.
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


@pytest.mark.full
def test_a_task_is_written_down_and_steered(world: World) -> None:
    """The tools return the same as the command line, and no agent is started."""
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


@pytest.mark.full
def test_an_open_task_is_edited(world: World) -> None:
    """The tool records who edited it; values that the task cannot get are refused."""
    task = world.new("Rest")

    async def conversation(client: Client) -> None:
        edited = await use(client, "edit", id=task, title="Sleep", budget_usd=2)
        assert edited["title"] == "Sleep"
        for wrong in ({"title": "Sleep"}, {"executor": "claud"}, {"after": [task]}, {}):
            refused = await client.call_tool("edit", {"id": task, **wrong})
            assert refused.is_error, wrong

    talk(world, conversation)
    (event,) = [one for one in world.events(task) if one["type"] == "task_edited"]
    assert (event["by"], world.show(task)["title"]) == ("mcp", "Sleep")


@pytest.mark.full
def test_a_person_decides_through_it(world: World) -> None:
    """A task at a gate is rejected with a reason, continued by a run elsewhere, and approved."""
    world.environ["OSTLER_GATES__DEFAULT"] = "human"
    task = world.new()
    world.ostler("run", task, code=4)

    async def conversation(client: Client) -> None:
        result = await client.call_tool("show", {"id": task})
        step = f"ostler review {task}   or   ostler approve {task}   or   ostler reject {task} -m TEXT"
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


def test_a_mistake_is_an_answer_that_shows_what_to_do(world: World) -> None:
    """The fact, the place and the next step; nothing is recorded."""
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
        printed: dict[str, str] = {}
        for name, (tool, arguments) in asked.items():
            result = await client.call_tool(tool, arguments)
            assert result.is_error and result.structured_content["schema"] == "ostler.error/1"
            printed[name] = text_of(result)
        await use(client, "submit", title="A real one")
        refused = await client.call_tool("approve", {"id": "a-real"})
        printed["not asked"] = text_of(refused)
        with pytest.raises(MCPError, match="unknown tool 'run'; use one of submit, list"):
            await client.call_tool("run", {"id": "a-real"})
        return printed

    printed = talk(world, conversation)
    assert printed["unknown id"] == "USAGE: no task nope. Next: run ostler status to see the tasks"
    assert "submit: unknown argument `titel`. Next: expected title, body" in printed["unknown argument"]
    assert "submit: missing argument `title`" in printed["missing argument"]
    assert "a task needs a title" in printed["blank title"]
    assert "clade" in printed["unknown executor"]
    assert "budget_usd" in printed["no budget"]
    assert "reject: missing argument `text`" in printed["no reason"]
    assert "is pending: it is not waiting for a decision. Next: ostler show" in printed["not asked"]
    assert len(world.json("status")["tasks"]) == 1


@pytest.mark.full
def test_tasks_and_transcripts_are_resources(world: World) -> None:
    """By their addresses: the list, a task as in `show --json`, and the transcript of its agent."""
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
    """Invalid JSON is answered or skipped, and the end of stdin ends it without an error."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    done = world.ostler("mcp", stdin=json.dumps(asked) + "\nnot json\n")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0]["result"]["serverInfo"]["name"] == "ostler"
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}


def test_ctrl_c_ends_it_at_once(world: World) -> None:
    """Although a thread waits for a silent client."""
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


def test_without_the_package_it_shows_what_to_install(world: World) -> None:
    """One sentence and the command; everything else works without the package."""
    fake = world.root.parent / "without" / "mcp"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')")
    path = f"{fake.parent}:{world.environ['PYTHONPATH']}"
    refused = world.ostler("mcp", code=2, PYTHONPATH=path)
    assert "needs the Python package mcp" in refused.stderr and "pip install" in refused.stderr
    assert refused.stdout == ""
    world.ostler("--help", PYTHONPATH=path)


@pytest.mark.full
def test_a_task_that_lacks_something_is_refused_and_preflight_lists_the_rest(world: World) -> None:
    """With the same lines as the command line."""
    world.ostler("init")
    (world.root / ".agents/roles").mkdir(parents=True)
    (world.root / ".agents/roles/mine.md").write_text("")

    async def conversation(client: Client) -> tuple[str, str, Any]:
        refused = await client.call_tool("submit", {"title": "x", "executor": "claud", "after": ["no"]})
        found = await client.call_tool("preflight", {})
        return text_of(refused), text_of(found), found.structured_content

    refused, text, document = talk(world, conversation)
    assert 'unknown executor "claud"; did you mean claude?' in refused and "no task no" in refused
    assert "error: .agents/roles/mine.md: the prompt of the role is empty" in text.splitlines()
    assert (document["schema"], document["ok"]) == ("ostler.preflight/1", False)


@pytest.mark.full
def test_many_tasks_are_retried_at_once(world: World) -> None:
    """Every failed task, or those with a code; without a filter nothing is retried."""
    world.ostler("init")
    world.behave(fault="crash")
    failed, other = world.new("Crash"), world.new("Stay")
    world.ostler("run", failed, code=1, OSTLER_RETRY__MAX_RETRIES="0")

    async def conversation(client: Client) -> None:
        refused = await client.call_tool("retry_many", {})
        assert refused.is_error and "set failed, code or since" in text_of(refused)
        assert (await use(client, "retry_many", code="NETWORK"))["tasks"] == []
        assert (await use(client, "retry_many", failed=True))["tasks"] == [failed]

    talk(world, conversation)
    assert [world.show(task)["status"] for task in (failed, other)] == ["pending", "pending"]
