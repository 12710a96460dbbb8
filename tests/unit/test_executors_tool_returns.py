"""The inputs and results of tools in the output formats of the agents."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from ostler.executors import codex, copilot, cursor, gemini, opencode
from ostler.executors.acp.updates import UpdateReader
from ostler.executors.agent_json import EMPTY_OBJECT, build_input, parse_object, to_object
from ostler.executors.output import StreamReader
from ostler.executors.stream_state import StreamState
from ostler.model.call import AgentCall, AgentEvent, ToolDenied, ToolReturned, ToolUsed
from ostler.views.agent_work.edits import find_edits

FORMATS = {module.OUTPUT.program: module.OUTPUT for module in (codex, copilot, cursor, gemini, opencode)}
Line = dict[str, Any]


def decode(program: str, *lines: Line) -> list[AgentEvent]:
    events: list[AgentEvent] = []
    observed = StreamReader(FORMATS[program], AgentCall("i", "p", "s-1"), events.append)
    for line in lines:
        observed.read_line(json.dumps(line).encode())
    return [event for event in events if isinstance(event, ToolUsed | ToolReturned | ToolDenied)]


def item(kind: str, done: bool = True, **members: Any) -> Line:
    return {
        "type": f"item.{'completed' if done else 'started'}",
        "item": {"id": "i1", "type": kind, **members},
    }


def tool_call(subtype: str, **members: Any) -> Line:
    return {"type": "tool_call", "subtype": subtype, "call_id": "c1", "tool_call": {"shellToolCall": members}}


def complete(**members: Any) -> Line:
    return {"type": "tool.execution_complete", "data": {"toolCallId": "c1", **members}}


def opencode_tool(**state: Any) -> Line:
    part = {"tool": "bash", "callID": "c1", "state": {"input": {"command": "ls"}, **state}}
    return {"type": "tool_use", "sessionID": "s", "part": part}


STARTED = {
    "codex": item("command_execution", done=False, command="ls"),
    "copilot": {
        "type": "tool.execution_start",
        "data": {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "ls"}},
    },
    "cursor-agent": tool_call("started", args={"command": "ls"}),
    "gemini": {"type": "tool_use", "tool_name": "bash", "tool_id": "c1", "parameters": {"command": "ls"}},
}
ENDINGS: list[tuple[str, Line, str, bool]] = [
    ("codex", item("command_execution", aggregated_output="hi\n", exit_code=0), "hi\n", False),
    ("codex", item("command_execution", aggregated_output="no", exit_code=2, status="failed"), "no", True),
    ("codex", item("command_execution", aggregated_output="killed", exit_code=-9), "killed", True),
    ("copilot", complete(success=True, result={"content": "hi"}), "hi", False),
    ("copilot", complete(success=False, error={"message": "no", "code": "failure"}), "no", True),
    ("cursor-agent", tool_call("completed", result={"success": {"stdout": "hi"}}), "hi", False),
    ("cursor-agent", tool_call("completed", result={"success": {"content": "hi", "n": 1}}), "hi", False),
    ("cursor-agent", tool_call("completed", result={"success": {"lines": 3}}), '{"lines":3}', False),
    ("cursor-agent", tool_call("completed", result={"error": {"errorMessage": "no"}}), "no", True),
    ("gemini", {"type": "tool_result", "tool_id": "c1", "status": "success", "output": "hi"}, "hi", False),
    (
        "gemini",
        {"type": "tool_result", "tool_id": "c1", "status": "error", "error": {"type": "x", "message": "no"}},
        "no",
        True,
    ),
]


@pytest.mark.parametrize(("program", "line", "text", "failed"), ENDINGS)
def test_tool_returns(program: str, line: Line, text: str, failed: bool) -> None:
    """The use is reported with its input, then the result with the same id."""
    used, returned = decode(program, STARTED[program], line)
    assert isinstance(used, ToolUsed) and isinstance(returned, ToolReturned)
    assert msgspec.json.decode(used.input)["command"] == "ls"
    assert used.id and returned.id == used.id
    assert (returned.text.replace(" ", ""), returned.failed) == (text, failed)


@pytest.mark.parametrize(
    ("state", "text", "failed"),
    [
        ({"status": "completed", "output": "hi"}, "hi", False),
        ({"status": "error", "error": "it broke"}, "it broke", True),
    ],
)
def test_opencode_reports_both_at_once(state: Line, text: str, failed: bool) -> None:
    """Opencode reports a tool when it has finished."""
    assert decode("opencode", opencode_tool(**state)) == [
        ToolUsed("bash", "ls", "c1", Raw(b'{"command": "ls"}')),
        ToolReturned("c1", text, failed),
    ]


def test_refused_tool_returns_nothing() -> None:
    """A denied tool is reported as denied, without a result."""
    refused = opencode_tool(status="error", error="The user rejected permission to use it")
    declined = item("command_execution", command="ls", status="declined")
    for events in (decode("opencode", refused), decode("codex", STARTED["codex"], declined)):
        assert [type(event) for event in events] == [ToolUsed, ToolDenied]


def test_codex_reports_a_change_once() -> None:
    """An edit is reported once, with or without a start event."""
    change = {"changes": [{"path": "a.py", "kind": "update"}], "status": "completed"}
    alone = decode("codex", item("file_change", **change))
    announced = decode("codex", item("file_change", done=False, **change), item("file_change", **change))
    expected = Raw(b'{"changes":[{"path":"a.py","kind":"update"}]}')
    assert alone == announced == [ToolUsed("edit", "a.py", "i1", expected), ToolReturned("i1")]


def test_codex_reports_what_a_server_was_asked() -> None:
    """The input and the result of an MCP tool are reported."""
    requested = {"server": "docs", "tool": "find", "arguments": {"q": "x"}}
    answer = {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
    begun, done = item("mcp_tool_call", False, **requested), item("mcp_tool_call", **requested, result=answer)
    used, returned = decode("codex", begun, done)
    assert isinstance(used, ToolUsed)
    assert msgspec.json.decode(used.input) == requested
    assert returned == ToolReturned("i1", "one\ntwo")
    failed = decode("codex", item("mcp_tool_call", **requested, status="failed", error={"message": "no"}))
    assert failed[-1] == ToolReturned("i1", "no", failed=True)


def updates(*news: Line) -> list[AgentEvent]:
    events: list[AgentEvent] = []
    observed = UpdateReader(StreamState(AgentCall("i", "p"), events.append))
    for update in news:
        params = {"sessionId": "s", "update": {"toolCallId": "t1", **update}}
        observed.read(Raw(json.dumps(params).encode()), "s")
    observed.close()
    return events


DIFF = {"type": "diff", "path": "/w/a.py", "oldText": "x", "newText": "y"}


def test_acp_agent_that_only_sends_a_diff() -> None:
    """Without an input the diff is the input."""
    done = {"sessionUpdate": "tool_call_update", "status": "completed", "content": [DIFF]}
    used, returned = updates({"sessionUpdate": "tool_call", "kind": "edit", "title": "Edit"}, done)
    assert isinstance(used, ToolUsed)
    assert find_edits(msgspec.json.decode(used.input)) == [{"path": "/w/a.py", "old": "x", "new": "y"}]
    assert returned == ToolReturned("t1")


def test_acp_agent_that_changes_several_files_at_once() -> None:
    """All diffs are reported; a new file has no old text."""
    new = {"type": "diff", "path": "/w/b.py", "oldText": None, "newText": "z"}
    (used, _) = updates({"sessionUpdate": "tool_call", "status": "completed", "content": [DIFF, new]})
    assert isinstance(used, ToolUsed)
    found = find_edits(msgspec.json.decode(used.input))
    assert [(edit["path"], edit["old"], edit["new"]) for edit in found] == [
        ("/w/a.py", "x", "y"),
        ("/w/b.py", "", "z"),
    ]


@pytest.mark.parametrize(
    ("news", "text", "failed"),
    [
        ({"status": "completed", "rawOutput": "plain"}, "plain", False),
        ({"status": "completed", "rawOutput": {"output": "member"}}, "member", False),
        ({"status": "completed", "rawOutput": {"unknown": 1}}, "", False),
        (
            {
                "status": "failed",
                "content": [{"type": "content", "content": {"type": "text", "text": "no"}}],
            },
            "no",
            True,
        ),
        ({"status": "completed", "content": [{"type": "terminal", "terminalId": "t"}]}, "", False),
    ],
)
def test_acp_outcome(news: Line, text: str, failed: bool) -> None:
    """The result is reported once, however often the agent repeats the end of the tool."""
    begun = {"sessionUpdate": "tool_call", "kind": "execute", "rawInput": {"command": "ls"}}
    done = {"sessionUpdate": "tool_call_update", **news}
    assert updates(begun, done, done)[1:] == [ToolReturned("t1", text, failed)]


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b'{"a":1}', b'{"a":1}'),
        (b"", b"{}"),
        (b"null", b"{}"),
        (b"[1]", b'{"text":[1]}'),
        (b'"ls"', b'{"text":"ls"}'),
        (b'{"a":\n1}', b'{"a":1}'),
    ],
)
def test_input_is_an_object_on_one_line(raw: bytes, kept: bytes) -> None:
    """Any input of a tool becomes one line of JSON."""
    assert bytes(to_object(Raw(raw))) == kept


@pytest.mark.parametrize(
    ("text", "kept"), [('{"a": 1}', b'{"a":1}'), ("{", b'{"text":"{"}'), ('{"a":' * 5000, b"")]
)
def test_what_a_model_wrote_is_an_object_too(text: str, kept: bytes) -> None:
    """A text that is not JSON becomes an object."""
    assert bytes(parse_object(text)) == (kept or b'{"text":%b}' % json.dumps(text).encode())


def test_empty_members_are_omitted() -> None:
    """Empty members are omitted."""
    assert bytes(build_input(command="ls", query="")) == b'{"command":"ls"}'
    assert build_input() == EMPTY_OBJECT
