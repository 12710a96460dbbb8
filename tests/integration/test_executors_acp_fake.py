"""The ACP executor with a fake agent that has faults, and with an agent of the protocol's package."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from pathlib import Path
from typing import Any

import acp.schema as schema
import pytest
from pydantic import BaseModel

import acp_sdk_agent
from fresh_prompts import fresh
from ostler.config.settings import ExecutorSettings
from ostler.errors import AgentUnavailable, Code
from ostler.executors.protocol import Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    CallResult,
    LineSkipped,
    Permissions,
    SessionReplaced,
    SessionStarted,
    TextReceived,
    ToolDenied,
    ToolReturned,
    ToolUsed,
)
from ostler.model.usage import Usage
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.fake_agent import COMPLETE, fake_agent, read_ledger


class Bench:
    """A workspace, and an ACP executor in it."""

    def __init__(self, place: Path, permissions: Permissions = "accept-edits", **behaviour: Any) -> None:
        self.place = place
        self.workspace = place / "work"
        self.workspace.mkdir(parents=True)
        self.ledger = place / "ledger"
        self.transcript = place / "transcript"
        self.events: list[AgentEvent] = []
        program = fake_agent(place / "bin", "acp", ledger=str(self.ledger), **behaviour)
        self.settings = ExecutorSettings(command=str(program), permissions=permissions)

    def executor(self, kind: str = "acp") -> Executor:
        return ExecutorRegistry().get(kind)("mine", self.settings, DefaultCommandRunner())

    def call(self, session: str = "", **more: Any) -> AgentCall:
        limits = {"timeout_seconds": 30.0, "grace_seconds": 0.5, **more}
        paths = {"cwd": str(self.workspace), "transcript": str(self.transcript)}
        return AgentCall(
            "implementer", "Do it.", session_id=session, allow_unsandboxed_skip=True, **paths, **limits
        )

    def spawn(self, **more: Any) -> CallResult:
        return asyncio.run(self.executor().spawn(self.call(**more), self.events.append))

    def resume(self, session: str, **more: Any) -> CallResult:
        return asyncio.run(self.executor().resume(self.call(session, **more), self.events.append))

    def received(self, kind: type[AgentEvent]) -> list[AgentEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    def recorded(self, event: str) -> list[dict[str, Any]]:
        return [line for line in read_ledger(self.ledger) if line["event"] == event]


def test_turn_becomes_events_and_a_result(tmp_path: Path) -> None:
    """Session, tool, text, tokens and cost are reported; notifications of vendors are ignored."""
    bench = Bench(tmp_path)
    result = bench.spawn()
    assert (result.code, result.text, result.exit_code) == (None, COMPLETE, 0), result.message
    assert (result.model, result.usage, result.cost_usd) == ("fake-1", Usage(10, 5), 0.00014)
    assert bench.received(SessionStarted) == [SessionStarted(result.session_id, "fake-1", "1.0.0")]
    path = str(bench.workspace / "fake-agent.txt")
    (used,) = bench.received(ToolUsed)
    assert isinstance(used, ToolUsed) and (used.tool, used.detail) == ("edit", path)
    assert [event.id for event in bench.received(ToolReturned) if isinstance(event, ToolReturned)] == [
        used.id
    ]
    assert bench.received(TextReceived) == [TextReceived(COMPLETE)]
    assert bench.received(LineSkipped) == []
    assert (bench.workspace / "fake-agent.txt").read_text() == "call 1\n"


@pytest.mark.parametrize(
    ("permissions", "edits", "runs"),
    [("ask", False, False), ("accept-edits", True, False), ("skip", True, True)],
)
def test_permissions_answer_for_the_person(
    permissions: Permissions, edits: bool, runs: bool, tmp_path: Path
) -> None:
    """The settings decide whether edits and commands are allowed, each time for one use."""
    editing = Bench(tmp_path / "edit", permissions)
    edited = editing.spawn()
    running = Bench(tmp_path / "run", permissions, fault="denied")
    ran = running.spawn()
    assert (editing.workspace / "fake-agent.txt").exists() == edits
    assert bool(editing.received(ToolDenied)) != edits
    assert ran.text == ("I ran it." if runs else "I was not allowed to.")
    assert running.received(ToolDenied) == ([] if runs else [ToolDenied("execute", "make")])
    assert ("PERMISSION_DENIED" in edited.warnings, "PERMISSION_DENIED" in ran.warnings) == (
        not edits,
        not runs,
    )
    requested = editing.recorded("permission") + running.recorded("permission")
    assert len(requested) == 2 and not any("always" in line["outcome"]["optionId"] for line in requested)


@pytest.mark.parametrize("place", ["../outside.txt", "link/inside.txt"])
def test_edit_outside_the_workspace_is_refused(place: str, tmp_path: Path) -> None:
    """Accept-edits does not allow an edit outside the workspace, also not through a link."""
    bench = Bench(tmp_path, edits={place: "x"})
    (tmp_path / "elsewhere").mkdir()
    (bench.workspace / "link").symlink_to(tmp_path / "elsewhere")
    result = bench.spawn()
    assert "PERMISSION_DENIED" in result.warnings
    assert not (bench.workspace / place).exists()


@pytest.mark.parametrize("handshake", ["", "loads", "boasts"])
def test_session_continues_without_its_replay(handshake: str, tmp_path: Path) -> None:
    """A resumed or loaded session returns only the new text, and its cost is counted once."""
    bench = Bench(tmp_path, handshake=handshake)
    first = bench.spawn()
    bench.events.clear()
    second = bench.resume(first.session_id, session_cost_usd=first.session_cost_usd or 0.0)
    assert (second.code, second.text, second.session_id) == (None, COMPLETE, first.session_id)
    assert TextReceived("an old answer") not in bench.events
    assert second.cost_usd == pytest.approx(0.00014)
    assert second.session_cost_usd == pytest.approx(0.00028)


@pytest.mark.parametrize("handshake", ["", "loads", "boasts", "forgetful"])
def test_lost_session_is_replaced_and_reported(handshake: str, tmp_path: Path) -> None:
    """A session that the agent does not find or cannot resume is replaced, and that is reported."""
    bench = Bench(tmp_path, handshake=handshake)
    lost = str(uuid.uuid4())
    result = bench.resume(lost, fresh_prompt=fresh("From the start."))
    assert result.ok and result.session_id != lost
    assert bench.received(SessionReplaced) == [SessionReplaced(result.session_id, resumed=False)]
    assert "From the start." in next((bench.place / "bin" / "sessions").glob("*.jsonl")).read_text()


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ({"handshake": "auth"}, Code.AUTH_FAILED),
        ({"handshake": "version"}, Code.AGENT_INCOMPATIBLE),
        ({"fault": "api_error", "error": 401}, Code.AUTH_FAILED),
        ({"fault": "api_error", "error": 429}, Code.RATE_LIMITED),
        ({"fault": "api_error", "error": 500}, Code.OVERLOADED),
        ({"fault": "api_error", "error": 401, "handshake": "polite"}, Code.AUTH_FAILED),
        ({"fault": "api_error", "error": 529, "handshake": "polite"}, Code.OVERLOADED),
        ({"stop_reason": "refusal"}, Code.REFUSED),
        ({"stop_reason": "max_turn_requests"}, Code.ITERATION_LIMIT),
        ({"stop_reason": "cancelled"}, Code.AGENT_FAILED),
        ({"stop_reason": "from the future"}, Code.AGENT_FAILED),
        ({"fault": "crash"}, Code.AGENT_FAILED),
        ({"fault": "a15_no_result"}, Code.NO_RESULT),
        ({"fault": "a16_empty"}, Code.RESPONSE_EMPTY),
        ({"fault": "a8_never_reads"}, Code.NO_RESULT),
        ({"fault": "a9_closes_stdin"}, Code.AGENT_FAILED),
        ({"fault": "a18_exit", "status": -9}, Code.AGENT_KILLED),
    ],
    ids=str,
)
def test_each_bad_end_has_one_code(behaviour: dict[str, Any], code: Code, tmp_path: Path) -> None:
    """Each failure has one code and a message of one sentence."""
    result = Bench(tmp_path, **behaviour).spawn()
    assert result.code is code, result.message
    assert result.message and "\n" not in result.message
    assert result.text == ""


def test_silence_while_it_retries_is_an_idle_timeout(tmp_path: Path) -> None:
    """An agent that waits for its provider without output is stopped by the idle timeout."""
    result = Bench(tmp_path, fault="a1_hangs").spawn(idle_timeout_seconds=0.5)
    assert result.code is Code.IDLE_TIMEOUT
    assert result.duration_seconds < 10


@pytest.mark.parametrize(
    "fault", ["a10_flood", "a11_many_lines", "a12_bad_bytes", "a13_escapes", "a14_broken_json"]
)
def test_odd_output_does_not_end_the_conversation(fault: str, tmp_path: Path) -> None:
    """Lines that are not messages are counted, and the turn continues."""
    bench = Bench(tmp_path, fault=fault, bytes=1 << 20)
    result = bench.spawn()
    assert (result.code, result.text) == (None, COMPLETE), result.message
    assert bench.received(LineSkipped)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fault", ["hangs_after_result", "a7_child_keeps_stdout", "a4_daemons"])
def test_answer_counts_though_the_agent_stays(fault: str, tmp_path: Path) -> None:
    """After the answer the program has two seconds to exit; then all its processes are stopped."""
    result = Bench(tmp_path, fault=fault, count=1).spawn()
    assert (result.code, result.text) == (None, COMPLETE), result.message
    assert result.duration_seconds < 20


def test_exit_after_the_answer_is_ignored(tmp_path: Path) -> None:
    """After the answer the exit code is not relevant."""
    result = Bench(tmp_path, fault="a18_after_result", status=3).spawn()
    assert (result.code, result.exit_code) == (None, 3)


def test_cancel_is_sent_before_the_stop(tmp_path: Path) -> None:
    """A cancelled call sends session/cancel to the agent before it is stopped."""
    received = tmp_path / "received"
    program = tmp_path / "agent.py"
    program.write_text(CANCELLED.format(received=str(received)))
    bench = Bench(tmp_path)
    bench.settings = ExecutorSettings(command=sys.executable, args=(str(program),))

    async def cancel_it() -> None:
        started = asyncio.Event()
        running = asyncio.create_task(bench.executor().spawn(bench.call(), lambda _: started.set()))
        await asyncio.wait_for(started.wait(), 30)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel_it())
    assert json.loads(received.read_text())["method"] == "session/cancel"


CANCELLED = """
import json, sys
def answer(line, result): print(json.dumps({{"id": json.loads(line)["id"], "result": result}}), flush=True)
answer(sys.stdin.readline(), {{"protocolVersion": 1}})
answer(sys.stdin.readline(), {{"sessionId": "s-1"}})
sys.stdin.readline()
open({received!r}, "w").write(sys.stdin.readline())
"""


@pytest.mark.parametrize(("model", "code"), [("fake-2", None), ("fake-9", Code.MODEL_NOT_FOUND)])
def test_model_is_chosen_in_the_session(model: str, code: Code | None, tmp_path: Path) -> None:
    """A model that the agent offers is set and reported; another one is an error before the prompt."""
    bench = Bench(tmp_path)
    result = bench.spawn(model=model)
    assert (result.code, result.model) == (code, model if code is None else "fake-1"), result.message
    assert [line["model"] for line in bench.recorded("model")] == ([model] if code is None else [])


def test_mode_that_is_not_offered_is_incompatible(tmp_path: Path) -> None:
    """Codex is restricted by its modes: an adapter without the expected modes is incompatible."""
    bench = Bench(tmp_path)
    result = asyncio.run(bench.executor("codex-acp").spawn(bench.call(), bench.events.append))
    assert result.code is Code.AGENT_INCOMPATIBLE
    assert bench.recorded("edit") == []


def test_resuming_an_agent_that_stores_no_sessions_is_an_error(tmp_path: Path) -> None:
    """Resuming without the capability of the agent fails, and starts no new session."""
    assert Bench(tmp_path, handshake="forgetful").resume("s-1").code is Code.RESUME_UNSUPPORTED


def test_executor_without_a_program_names_the_setting(tmp_path: Path) -> None:
    """`type = "acp"` without a command is an error that names the setting."""
    bench = Bench(tmp_path)
    bench.settings = ExecutorSettings()
    with pytest.raises(AgentUnavailable) as caught:
        bench.executor().validate_availability()
    assert "executors.mine.command" in caught.value.hint


@pytest.mark.sampled(1)
@pytest.mark.parametrize("permissions", ["ask", "accept-edits"])
def test_agent_of_the_protocols_own_package(permissions: Permissions, tmp_path: Path) -> None:
    """An agent that uses the package of the protocol accepts every message of Ostler."""
    bench = Bench(tmp_path, permissions)
    bench.settings = ExecutorSettings(
        command=sys.executable, args=(acp_sdk_agent.__file__,), permissions=permissions
    )
    first = bench.spawn()
    allowed = permissions == "accept-edits"
    assert (first.code, first.text) == (None, "I wrote it." if allowed else "I was not allowed to.")
    assert (bench.workspace / "made.txt").exists() == allowed
    assert (first.usage, first.exit_code) == (Usage(10, 5), 0)
    second = bench.resume(first.session_id)
    assert (second.code, second.text, second.session_id) == (None, first.text, first.session_id)
    assert bench.received(LineSkipped) == []


ANSWERS = (schema.InitializeResponse, schema.NewSessionResponse, schema.PromptResponse)
ASKS: dict[str, type[BaseModel]] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
}


@pytest.mark.parametrize("fault", ["", "denied", "a25_forgets"])
def test_fake_follows_the_protocol(fault: str, tmp_path: Path) -> None:
    """The messages of the fake agent are valid by the schema of the protocol."""
    bench = Bench(tmp_path, fault=fault)
    assert bench.spawn().ok
    answers = iter(ANSWERS)
    for line in bench.transcript.read_text().splitlines():
        message = json.loads(line)
        if "method" not in message:
            next(answers).model_validate(message["result"])
        elif message["method"] in ASKS:
            ASKS[message["method"]].model_validate(message["params"])
    assert next(answers, None) is None
