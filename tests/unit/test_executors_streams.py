"""Invalid output of the other agents."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.executors import codex, copilot, cursor, gemini, opencode
from ostler.executors.output import OutputFormat, StreamReader
from ostler.executors.stream_state import StreamState
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    LineSkipped,
    SessionStarted,
    ThinkingReceived,
    TodosReported,
    ToolUsed,
)
from ostler.model.command import Exit
from ostler.model.todo import Todo

FORMATS = {module.OUTPUT.program: module.OUTPUT for module in (codex, copilot, cursor, gemini, opencode)}
TYPES = (
    *("thread.started", "item.started", "item.completed", "turn.completed", "turn.failed", "error"),
    *("init", "message", "tool_use", "tool_result", "result", "system", "assistant", "tool_call"),
    *("text", "step_finish", "session.error", "assistant.message", "model.call_failure"),
    *("tool.execution_start", "tool.execution_complete", "session.tools_updated"),
)
MEMBERS = (
    *("thread_id", "item", "usage", "error", "message", "session_id", "model", "role", "content", "delta"),
    *("tool_name", "parameters", "status", "stats", "part", "sessionID", "data", "exitCode", "tool_call"),
    *("output", "aggregated_output", "exit_code", "changes", "arguments", "success", "callID", "tool", "id"),
    *("subtype", "result", "is_error", "state", "tokens", "input", "reason", "cost", "args", "statusCode"),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=3),
    max_leaves=8,
)
LINES = st.builds(
    lambda kind, more: {**more, "type": kind},
    st.sampled_from(TYPES),
    st.dictionaries(st.sampled_from(MEMBERS), VALUES, max_size=5),
)


@pytest.mark.parametrize("output_format", FORMATS.values(), ids=FORMATS)
@given(lines=st.lists(LINES, max_size=6), status=st.integers(-64, 255))
def test_no_line_breaks_a_decoder(
    output_format: OutputFormat, lines: list[dict[str, Any]], status: int
) -> None:
    """No line raises an exception, the run is evaluated, and every tool input is an object."""
    events: list[AgentEvent] = []
    observed = StreamReader(output_format, AgentCall("i", "p", "s-1"), events.append)
    for line in lines:
        observed.read_line(json.dumps(line).encode())
    result = observed.evaluate(Exit(status, 1.0))
    assert result.code is None or result.message
    for used in (event for event in events if isinstance(event, ToolUsed)):
        assert isinstance(msgspec.json.decode(used.input), dict) and b"\n" not in bytes(used.input)


@pytest.mark.parametrize("output_format", FORMATS.values(), ids=FORMATS)
def test_foreign_lines_are_counted(output_format: OutputFormat) -> None:
    """Lines that are not JSON are counted, and the first twenty are reported."""
    events: list[AgentEvent] = []
    observed = StreamReader(output_format, AgentCall("i", "p"), events.append)
    for number in range(30):
        assert not observed.read_line(b"warning %d" % number)
    observed.read_line(b" ")
    observed.evaluate(Exit(0, 1.0, long_lines=1))
    reported = [event.detail for event in events if isinstance(event, LineSkipped)]
    assert (len(reported), reported[0], reported[-1]) == (
        22,
        "warning 0",
        "and 10 more lines that are not JSON",
    )


@pytest.mark.parametrize("name", ["--last", "../../etc", "a b", "", "x" * 101])
def test_session_that_could_be_an_option_is_not_taken(name: str) -> None:
    """A session id that looks like an option or a path is ignored."""
    events: list[AgentEvent] = []
    observed = StreamState(AgentCall("i", "p"), events.append)
    observed.start_session(name)
    assert (observed.session_id, events) == ("", [])
    observed.start_session("ses_1")
    assert events == [SessionStarted("ses_1")]


def test_codex_reports_its_todo_list_and_its_thoughts() -> None:
    """A list is sent when it changes; a summary of the reasoning is not a message."""
    items = [{"text": "read", "completed": True}, {"text": "write", "completed": False}]
    events: list[AgentEvent] = []
    observed = StreamReader(codex.OUTPUT, AgentCall("i", "p", "s-1"), events.append)
    for kind in ("item.started", "item.updated", "item.completed"):
        observed.read_line(json.dumps({"type": kind, "item": {"type": "todo_list", "items": items}}).encode())
    thought = {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}}
    observed.read_line(json.dumps(thought).encode())
    assert events == [TodosReported((Todo("read", "completed"), Todo("write"))), ThinkingReceived("hm")]
