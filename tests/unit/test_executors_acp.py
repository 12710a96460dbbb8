"""The ACP client: recorded agents, the schema of the protocol, and permissions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import acp.schema as schema
import msgspec
import pytest
from pydantic import BaseModel

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.acp.agents import AGENTS
from ostler.executors.acp.tools import PERMISSION_REQUEST, ToolCall, is_allowed, merge_tool_call
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    CallResult,
    Permissions,
    TextReceived,
    ThinkingReceived,
    TodosReported,
    ToolDenied,
    ToolReturned,
    ToolUsed,
)
from ostler.model.command import Command, Exit, Sink
from ostler.testing.mocks import MockCommandRunner

SAMPLES = Path(__file__).parents[1] / "data" / "acp"
SHELL = "echo hi > file.txt"


class Player(MockCommandRunner):
    """Responds to each request as the recorded agent did."""

    def __init__(self, answers: dict[str, list[dict[str, Any]]]) -> None:
        super().__init__(run_function=self.play)
        self._answers = answers

    async def play(self, command: Command, sink: Sink) -> Exit:
        observed = 0
        while observed < len(self.written):
            requested = json.loads(self.written[observed])
            observed += 1
            for line in self._answers.get(requested.get("method", ""), [{"result": {}}]):
                members = line if "method" in line else {"id": requested.get("id"), **line}
                sink(json.dumps({"jsonrpc": "2.0", **members}).encode())
        return Exit(0, 1.0, stdout_bytes=1)


class Expected(NamedTuple):
    kind: str
    text: str
    total: int
    cost: float | None
    tools: tuple[tuple[str, str], ...]
    model: str
    returned: tuple[str, ...] = ()


RAN = (("execute", SHELL),)
SILENT = ("",)
NO_OUTPUT, EXITED = "(Bash completed with no output)", "<shellId: 0 completed with exit code 0>"
EXPECTED = {
    "claude": Expected(
        "claude-acp", "ACP-DONE", 30, 0.00056, RAN, "claude-opus-5-5", ("(Bash completed with no output)",)
    ),
    "claude-zed-old": Expected("claude-acp", "ACP-DONE", 0, None, RAN, "", SILENT),
    "codex": Expected("codex-acp", "ACP-DONE", 30, None, RAN, "gpt-5", SILENT),
    "codex-zed": Expected("codex-acp", "ACP-DONE", 0, None, (), "gpt-5"),
    "copilot": Expected(
        "copilot-acp", "ACP-DONE", 45, None, RAN, "", ("<shellId: 0 completed with exit code 0>",)
    ),
    "gemini": Expected("gemini-acp", "ACP-DONE", 30, None, RAN, "gemini-2.5-pro", SILENT),
    "opencode": Expected("opencode-acp", "ACP-DONE", 15, None, RAN, "fake/fake-model", ("(no output)",)),
}


def answers_of(sample: str) -> dict[str, list[dict[str, Any]]]:
    """Return the recorded handshake, and the turn with a tool."""
    hello, session, _, turn, *_ = json.loads((SAMPLES / f"{sample}.json").read_text())
    printed = session["session/new"]
    updates = [
        {"method": "session/update", "params": {"sessionId": printed["sessionId"], "update": update}}
        for update in turn["updates_tool"]
    ]
    return {
        "initialize": [{"result": hello["initialize"]}],
        "session/new": [{"result": printed}],
        "session/prompt": [*updates, {"result": turn["prompt"]}],
    }


def spawn(
    kind: str,
    runner: MockCommandRunner,
    tmp_path: Path,
    permissions: Permissions = "accept-edits",
    **more: Any,
) -> tuple[CallResult, list[AgentEvent]]:
    program = tmp_path / "agent"
    program.touch(0o755)
    settings = ExecutorSettings(command=str(program), permissions=permissions)
    events: list[AgentEvent] = []
    call = AgentCall("i", "/do it", cwd=str(tmp_path), **more)
    return asyncio.run(
        ExecutorRegistry().get(kind)(kind, settings, runner).spawn(call, events.append)
    ), events


@pytest.mark.parametrize("sample", EXPECTED)
def test_recorded_agents_are_understood(sample: str, tmp_path: Path) -> None:
    """The text, tokens, cost, tool and model of each recorded turn are read."""
    wanted = EXPECTED[sample]
    runner = Player(answers_of(sample))
    result, events = spawn(wanted.kind, runner, tmp_path)
    assert (result.code, result.usage.total, result.model) == (None, wanted.total, wanted.model), (
        result.message
    )
    assert result.text.endswith(wanted.text)
    assert result.cost_usd == (None if wanted.cost is None else pytest.approx(wanted.cost))
    used = [event for event in events if isinstance(event, ToolUsed)]
    assert tuple((event.tool, event.detail) for event in used) == wanted.tools
    returned = [event for event in events if isinstance(event, ToolReturned)]
    assert [event.id for event in returned] == [event.id for event in used]
    assert tuple(event.text.strip() for event in returned) == wanted.returned
    assert result.session_id == json.loads(runner.written[-1])["params"]["sessionId"]


OURS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}


def checked(lines: list[bytes]) -> Iterator[str]:
    """Return the methods of the messages, each checked against the schema."""
    for line in lines:
        message = json.loads(line)
        assert line.endswith(b"\n") and line.count(b"\n") == 1
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            OURS[message["method"]].model_validate(message["params"])
            yield message["method"]
        else:
            schema.RequestPermissionResponse.model_validate(message["result"])
            yield "permission"


def test_what_we_ask_is_what_the_schema_allows(tmp_path: Path) -> None:
    """Handshake, session, mode, model and prompt are sent in order; the prompt is not a slash command."""
    runner = Player(answers_of("codex"))
    spawn("codex-acp", runner, tmp_path, model="gpt-5")
    expected = [
        "initialize",
        "session/new",
        "session/set_mode",
        "session/set_config_option",
        "session/prompt",
    ]
    assert list(checked(runner.written)) == expected
    assert json.loads(runner.written[2])["params"]["modeId"] == "workspace-write"
    assert json.loads(runner.written[-1])["params"]["prompt"] == [{"type": "text", "text": "\n/do it"}]


@pytest.mark.parametrize("can", [{"sessionCapabilities": {"resume": {}}}, {"loadSession": True}], ids=str)
def test_how_we_resume_is_what_the_schema_allows(can: dict[str, Any], tmp_path: Path) -> None:
    """session/resume is preferred to session/load, which replays the history."""
    hello = {"result": {"protocolVersion": 1, "agentCapabilities": can}}
    old = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "p"}}
    replay = {"method": "session/update", "params": {"sessionId": "s-1", "update": old}}
    answers = {
        "initialize": [hello],
        "session/load": [replay, {"result": None}],
        "session/prompt": [{"result": {"stopReason": "end_turn"}}],
    }
    runner = Player(answers)
    settings = ExecutorSettings(command="/bin/true")
    executor = ExecutorRegistry().get("acp")("mine", settings, runner)
    result = asyncio.run(executor.resume(AgentCall("i", "p", session_id="s-1"), lambda _: None))
    assert list(checked(runner.written))[1] == ("session/load" if "loadSession" in can else "session/resume")
    assert (result.code, result.session_id) == (Code.RESPONSE_EMPTY, "s-1")


def ask(kind: str, *offered: str, **tool: Any) -> dict[str, Any]:
    options = [{"optionId": f"id-{name}", "name": name, "kind": name} for name in offered]
    params = {"sessionId": "s-1", "toolCall": {"toolCallId": "t", "kind": kind, **tool}, "options": options}
    return {"method": "session/request_permission", "id": "their-own", "params": params}


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (("allow_always", "allow_once", "reject_once"), "id-allow_once"),
        (("allow_always", "reject_once"), "id-reject_once"),
        (("allow_always",), None),
        ((), None),
    ],
)
def test_nothing_is_ever_allowed_for_always(
    offered: tuple[str, ...], chosen: str | None, tmp_path: Path
) -> None:
    """When the agent offers only `always`, the request is denied."""
    turn = [ask("execute", *offered), {"result": {"stopReason": "end_turn"}}]
    answers = {
        "initialize": [{"result": {"protocolVersion": 1}}],
        "session/new": [{"result": {"sessionId": "s-1"}}],
        "session/prompt": turn,
    }
    runner = Player(answers)
    result, events = spawn("acp", runner, tmp_path, "skip", allow_unsandboxed_skip=True)
    assert list(checked(runner.written))[-1] == "permission"
    reply = json.loads(runner.written[-1])
    assert (reply["id"], reply["result"]["outcome"].get("optionId")) == ("their-own", chosen)
    refused = chosen != "id-allow_once"
    assert any(isinstance(event, ToolDenied) for event in events) == refused
    assert ("PERMISSION_DENIED" in result.warnings) == refused


def test_what_we_do_not_offer_is_refused(tmp_path: Path) -> None:
    """A request for a file or a terminal gets an error response."""
    asks = {"method": "fs/read_text_file", "id": 7, "params": {"path": "/etc/passwd"}}
    runner = Player({"initialize": [asks]})
    spawn("acp", runner, tmp_path)
    assert json.loads(runner.written[1])["error"]["code"] == -32601


def test_prepare_stop_sends_cancel_only_during_a_turn(tmp_path: Path) -> None:
    """Before the prompt no cancellation is sent."""
    from ostler.executors.acp.conversation import AcpConversation, SessionOptions

    printed: list[bytes] = []
    talk = AcpConversation(
        AgentCall("i", "p"), lambda _: None, SessionOptions("acp", resume=False, permissions="ask")
    )
    talk.start(printed.append)
    talk.prepare_stop()
    assert len(printed) == 1
    talk.receive_line(b'{"id": 1, "result": {"protocolVersion": 1}}')
    talk.receive_line(b'{"id": 2, "result": {"sessionId": "s-1"}}')
    talk.prepare_stop()
    assert list(checked(printed)) == ["initialize", "session/new", "session/prompt", "session/cancel"]


EDIT = ToolCall("t", kind="edit")


@pytest.mark.parametrize(
    "kind", ["read", "edit", "delete", "move", "search", "think", "execute", "fetch", None]
)
@pytest.mark.parametrize("permissions", ["ask", "accept-edits", "skip"])
def test_table_of_permissions(permissions: Permissions, kind: str | None, tmp_path: Path) -> None:
    """`ask` allows nothing, `skip` everything, accept-edits tools on files."""
    files = kind in ("read", "edit", "delete", "move", "search", "think")
    allowed = {"ask": False, "accept-edits": files, "skip": True}[permissions]
    assert is_allowed(permissions, ToolCall("t", kind=kind), str(tmp_path)) == allowed


@pytest.mark.parametrize(
    ("tool", "allowed"),
    [
        ({"locations": [{"path": "a.txt"}]}, True),
        ({"locations": [{"path": "a.txt"}, {"path": "/etc/passwd"}]}, False),
        ({"content": [{"type": "diff", "path": "../x", "newText": "y"}]}, False),
        ({"content": [{"type": "content", "content": {"type": "text", "text": "y"}}]}, True),
        ({"rawInput": {"file_path": "/etc/passwd"}}, False),
        ({"rawInput": {"path": "~/x"}}, True),  # no shell reads it: a directory of that name
        ({"locations": [{"path": "a\x00b"}]}, False),
    ],
    ids=str,
)
def test_edits_stay_in_the_workspace(tool: dict[str, Any], allowed: bool, tmp_path: Path) -> None:
    """A path outside the workspace is not allowed, wherever the agent names it."""
    requested = {"toolCall": {"toolCallId": "t", "kind": "edit", **tool}}
    request = PERMISSION_REQUEST.decode(json.dumps(requested))
    assert is_allowed("accept-edits", request.tool_call, str(tmp_path)) == allowed


def test_later_news_of_a_tool_keep_earlier_members() -> None:
    """An update without a kind, or with null, removes nothing."""
    news = msgspec.json.decode(
        b'{"toolCallId":"t","kind":null,"rawInput":null,"status":"failed"}', type=ToolCall
    )
    known = msgspec.json.decode(b'{"toolCallId":"t","kind":"edit","rawInput":{"path":"a"}}', type=ToolCall)
    both = merge_tool_call(known, news)
    assert (both.kind, both.summary, both.status) == ("edit", "a", "failed")


def test_messages_are_separated(tmp_path: Path) -> None:
    """Chunks of one message are one text; another id, a thought or a tool starts a new message."""

    def piece(text: str, message: str | None = None, kind: str = "agent_message_chunk") -> dict[str, Any]:
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}, "messageId": message}
        return {"method": "session/update", "params": {"sessionId": "s-1", "update": update}}

    turn = [piece("a", "1"), piece("b", "1"), piece("c", "2"), piece("hm", None, "agent_thought_chunk")]
    other = {"method": "session/update", "params": {"sessionId": "s-2", "update": {}}}
    answers = {
        "initialize": [{"result": {"protocolVersion": 1}}],
        "session/new": [{"result": {"sessionId": "s-1"}}],
        "session/prompt": [*turn, other, piece("d"), piece("e"), {"result": {"stopReason": "max_tokens"}}],
    }
    result, events = spawn("acp", Player(answers), tmp_path)
    assert [event.text for event in events if isinstance(event, TextReceived)] == ["ab", "c", "de"]
    assert (result.code, result.text, result.warnings) == (None, "de", ("RESPONSE_TRUNCATED",))
    assert [event.text for event in events if isinstance(event, ThinkingReceived)] == ["hm"]


def test_the_plan_of_an_agent_is_its_todo_list(tmp_path: Path) -> None:
    """Each change of the plan is reported whole."""

    def plan(status: str) -> dict[str, Any]:
        entries = [{"content": "Read it", "priority": "high", "status": status}]
        update = {"sessionUpdate": "plan", "entries": entries}
        return {"method": "session/update", "params": {"sessionId": "s-1", "update": update}}

    answers = {
        "initialize": [{"result": {"protocolVersion": 1}}],
        "session/new": [{"result": {"sessionId": "s-1"}}],
        "session/prompt": [
            *(plan("in_progress"), plan("in_progress"), plan("completed")),
            {"result": {"stopReason": "end_turn"}},
        ],
    }
    _, events = spawn("acp", Player(answers), tmp_path)
    statuses = [event.todos[0].status for event in events if isinstance(event, TodosReported)]
    assert statuses == ["in_progress", "completed"]


@pytest.mark.parametrize("kind", sorted(AGENTS.keys() - {"acp"}))
def test_built_in_agents_start_with_their_arguments(kind: str, tmp_path: Path) -> None:
    """The arguments of the table come first; the model is an argument only with a model flag."""
    runner = Player({})
    spawn(f"{kind}-acp", runner, tmp_path, model="m-1")
    _, *argv = runner.last.argv
    agent = AGENTS[kind]
    assert argv == [*agent.args, *(("--model", "m-1") if agent.model_flag else ())]
    assert runner.last.env.items() >= agent.default_env.items()
    assert not agent.capabilities.accepts_session_id
