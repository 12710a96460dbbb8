"""The real codex, gemini, qwen, opencode and copilot with a local model server; only in make test-full."""

from __future__ import annotations

import asyncio
import json
import signal
import time
import uuid
from pathlib import Path

import pytest

from fresh_prompts import fresh
from ostler.errors import Code
from ostler.model.call import CallResult, SessionReplaced, SessionStarted, ToolDenied, ToolUsed
from ostler.prompt.answer import ANSWER_SCHEMA
from ostler.testing.fake_llm import FakeLlm, Turn, fail, fit, say
from real_agents import AGENTS, Seat, real_world, turns
from world import wait_until

MARK = "<phase_complete>true</phase_complete>"

pytestmark = [
    pytest.mark.parametrize("name", AGENTS),
]


def test_resume_keeps_the_history_and_counts_once(name: str, tmp_path: Path) -> None:
    """The server receives the first prompt and answer again, and each call has its own usage."""
    with FakeLlm(turns([say("ANSWER-ONE"), say("ANSWER-TWO")])) as llm:
        seat = Seat(name, tmp_path, llm)
        first = seat.spawn("PROMPT-ONE")
        assert (first.code, first.text) == (None, "ANSWER-ONE"), first.message
        reported = [e.session_id for e in seat.received(SessionStarted) if isinstance(e, SessionStarted)]
        second = seat.resume("PROMPT-TWO", first.session_id, session_usage=first.session_usage or first.usage)
    assert (second.code, second.text) == (None, "ANSWER-TWO"), second.message
    assert reported == [first.session_id] and second.session_id == first.session_id
    last = next(request for request in reversed(llm.prompts) if request.tool_entries)
    assert all(last.holds(text) for text in ("PROMPT-ONE", "ANSWER-ONE", "PROMPT-TWO"))
    assert second.usage == first.usage
    assert (first.usage.total > 0) == seat.executor.capabilities.reports_usage
    assert (first.cost_usd is not None) == seat.executor.capabilities.reports_cost


def test_an_answer_to_a_schema(name: str, tmp_path: Path) -> None:
    """An agent with structured output sends the schema to its model, in a new and in a resumed session."""
    schema = json.dumps(ANSWER_SCHEMA)
    answer = {"status": "complete", "reason": "", "summary": "I did it."}
    with FakeLlm(lambda request: fit(request, **answer) or say("OK")) as llm:
        seat = Seat(name, tmp_path, llm)
        first = seat.spawn("PROMPT-ONE", schema=schema)
        second = seat.resume("PROMPT-TWO", first.session_id, schema=schema)
    expected = json.dumps(answer) if seat.executor.capabilities.structured_output else "OK"
    assert [(one.code, one.text) for one in (first, second)] == [(None, expected)] * 2, first.message
    assert list(seat.workspace.iterdir()) == []


def test_a_tool_edits_a_file(name: str, tmp_path: Path) -> None:
    """With the default permissions the agent edits a file, and the tool is reported."""
    with FakeLlm(turns([AGENTS[name].write(tmp_path / "workspace" / "hello.txt"), say("Done.")])) as llm:
        seat = Seat(name, tmp_path, llm)
        result = seat.spawn("Greet the world.")
    assert (result.code, result.text, result.warnings) == (None, "Done.", ()), result.message
    assert (seat.workspace / "hello.txt").read_text() == "hello\n"
    assert len(seat.received(ToolUsed)) == 1
    assert seat.processes() == []


def test_nothing_is_done_without_permission(name: str, tmp_path: Path) -> None:
    """With `ask` a command is denied, and the denial is reported if the agent reports it."""
    with FakeLlm(turns([AGENTS[name].shell("echo hi > made.txt"), say("I could not.")])) as llm:
        seat = Seat(name, tmp_path, llm, "ask")
        result = seat.spawn()
    assert not (seat.workspace / "made.txt").exists()
    assert (result.code, result.text) == (None, "I could not."), result.message
    assert bool(seat.received(ToolDenied)) == AGENTS[name].reports_denials
    assert ("PERMISSION_DENIED" in result.warnings) == AGENTS[name].reports_denials


def test_unknown_session_is_replaced_with_the_fresh_prompt(name: str, tmp_path: Path) -> None:
    """A lost session is replaced by a new one with the fresh prompt, and that is reported."""
    with FakeLlm(turns([say("ANSWER")])) as llm:
        seat = Seat(name, tmp_path, llm)
        result = seat.resume("Go on.", str(uuid.uuid4()), fresh_prompt=fresh("THE-WHOLE-TASK"))
    assert (result.code, result.text) == (None, "ANSWER"), result.message
    assert seat.received(SessionReplaced) == [SessionReplaced(result.session_id, resumed=False)]
    assert llm.prompts[0].holds("THE-WHOLE-TASK") and not llm.prompts[0].holds("Go on.")


def test_refused_key_is_reported_soon(name: str, tmp_path: Path) -> None:
    """401 is AUTH_FAILED, without minutes of retries."""
    with FakeLlm([fail(401, "bad key")]) as llm:
        began = time.monotonic()
        result = Seat(name, tmp_path, llm).spawn()
    assert result.code is Code.AUTH_FAILED, result.message
    assert time.monotonic() - began < 60


def test_empty_answer_is_no_success(name: str, tmp_path: Path) -> None:
    """An empty answer is a failure, whatever the exit code."""
    with FakeLlm([say("")]) as llm:
        assert Seat(name, tmp_path, llm).spawn().code is Code.RESPONSE_EMPTY


def test_killed_in_the_middle_of_a_tool_it_can_be_resumed(name: str, tmp_path: Path) -> None:
    """After a kill the code is correct, the tools are stopped, and the session can be resumed."""
    forever = AGENTS[name].shell("touch started; tail -f /dev/null")
    with FakeLlm(turns([forever, say("ANSWER-TWO")])) as llm:
        seat = Seat(name, tmp_path, llm, "skip")
        killed = asyncio.run(_kill_in_tool(seat))
        assert killed.code is Code.AGENT_KILLED, killed.message
        assert seat.processes() == []
        again = seat.resume("PROMPT-TWO", killed.session_id, fresh_prompt=fresh("PROMPT-TWO, from the start"))
    assert (again.code, again.text) == (None, "ANSWER-TWO"), again.message
    last = next(request for request in reversed(llm.prompts) if request.tool_entries)
    assert last.holds("PROMPT-TWO")
    assert last.holds("PROMPT-ONE") != bool(seat.received(SessionReplaced))


async def _kill_in_tool(seat: Seat) -> CallResult:
    running = asyncio.create_task(seat.executor.spawn(seat.call("PROMPT-ONE"), seat.events.append))
    await asyncio.to_thread(wait_until, (seat.workspace / "started").exists, 60, "the tool did not start")
    seat.processes()[0].send_signal(signal.SIGKILL)
    return await running


def test_stopped_in_time(name: str, tmp_path: Path) -> None:
    """At the timeout the agent and all its processes are stopped."""
    forever = AGENTS[name].shell("touch started; tail -f /dev/null")
    with FakeLlm(turns([forever, say("never")])) as llm:
        seat = Seat(name, tmp_path, llm, "skip")
        result = seat.spawn(timeout_seconds=8.0)
    assert result.code is Code.TIMEOUT, result.message
    assert seat.processes() == []


def test_task_through_the_whole_program(name: str, tmp_path: Path) -> None:
    """`ostler run` commits the edit of the real agent in the worktree of the task."""
    steps: list[Turn] = []
    with FakeLlm(turns(steps)) as llm:
        world = real_world(name, tmp_path, llm)
        task = world.new("Greet the world")
        path = world.root / ".ostler" / "worktrees" / task / "hello.txt"
        steps += [AGENTS[name].write(path), say(f"Done.\n\n{MARK}")]
        world.ostler("run", task)
        shown = world.show(task)
        assert world.git("show", f"{shown['branch']}:hello.txt") == "hello\n"
        assert (shown["status"], len(shown["attempts"])) == ("completed", 1)
        world.close()
