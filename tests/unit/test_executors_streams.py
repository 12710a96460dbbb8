"""The other agents' streams when they are not what they should be."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.executors import codex, copilot, cursor, gemini, opencode
from ostler.executors.hearing import Hearing
from ostler.executors.verdict import Listener, Manner
from ostler.model.call import AgentCall, AgentEvent, LineUnread, SessionStarted, ToolUsed
from ostler.model.command import Exit

MANNERS = {module.MANNER.program: module.MANNER for module in (codex, copilot, cursor, gemini, opencode)}
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


@pytest.mark.parametrize("manner", MANNERS.values(), ids=MANNERS)
@given(lines=st.lists(LINES, max_size=6), status=st.integers(-64, 255))
def test_no_line_breaks_a_decoder(manner: Manner, lines: list[dict[str, Any]], status: int) -> None:
    """Whatever a new version prints, the run is judged; nothing is raised, and every input is an object."""
    events: list[AgentEvent] = []
    heard = Listener(manner, AgentCall("i", "p", "s-1"), events.append)
    for line in lines:
        heard.take(json.dumps(line).encode())
    result = heard.judge(Exit(status, 1.0))
    assert result.code is None or result.message
    for used in (event for event in events if isinstance(event, ToolUsed)):
        assert isinstance(msgspec.json.decode(used.input), dict) and b"\n" not in bytes(used.input)


@pytest.mark.parametrize("manner", MANNERS.values(), ids=MANNERS)
def test_foreign_lines_are_counted(manner: Manner) -> None:
    """What is not JSON is told, the first twenty one by one, and does no harm."""
    events: list[AgentEvent] = []
    heard = Listener(manner, AgentCall("i", "p"), events.append)
    for number in range(30):
        assert not heard.take(b"warning %d" % number)
    heard.take(b" ")
    heard.judge(Exit(0, 1.0, long_lines=1))
    told = [event.detail for event in events if isinstance(event, LineUnread)]
    assert (len(told), told[0], told[-1]) == (22, "warning 0", "and 10 more lines that are not JSON")


@pytest.mark.parametrize("name", ["--last", "../../etc", "a b", "", "x" * 101])
def test_session_that_could_be_an_option_is_not_taken(name: str) -> None:
    """A session id becomes an argument: one that reads as an option or a path is no id."""
    events: list[AgentEvent] = []
    heard = Hearing(AgentCall("i", "p"), events.append)
    heard.begin(name)
    assert (heard.session_id, events) == ("", [])
    heard.begin("ses_1")
    assert events == [SessionStarted("ses_1")]
