"""The claude executor: arguments, environment, sessions, cost."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from fresh_prompts import fresh
from ostler.config.settings import ExecutorSettings
from ostler.errors import AgentUnavailable, Code, SpawnError
from ostler.executors.call_setup import encode_prompt
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.executors.discover import CLAUDE
from ostler.executors.protocol import Executor
from ostler.model.call import AgentCall, AgentEvent, CallResult, SessionReplaced
from ostler.model.command import Command, Exit, Sink, StopReason
from ostler.testing.fake_agent import fake_claude
from ostler.testing.mocks import MockCommandRunner

SESSION = "00000000-0000-4000-8000-000000000001"
BASE = ("--print", "--verbose", "--output-format", "stream-json")
EDITS = ("--permission-mode", "acceptEdits")


@pytest.fixture
def program(tmp_path: Path) -> str:
    """Return a program that exists; the mock runner does not start it."""
    return str(fake_claude(tmp_path / "bin"))


def result_line(**members: Any) -> bytes:
    return json.dumps({"type": "result", "is_error": False, "result": "ok", **members}).encode()


def init_line(version: str) -> bytes:
    return json.dumps({"type": "system", "subtype": "init", "claude_code_version": version}).encode()


def run(executor: Executor, verb: str, call: AgentCall) -> tuple[CallResult, list[AgentEvent]]:
    events: list[AgentEvent] = []
    return asyncio.run(getattr(executor, verb)(call, events.append)), events


@pytest.mark.parametrize(
    ("settings", "call", "verb", "arguments"),
    [
        ({}, {}, "spawn", (*BASE, *EDITS, "--session-id", SESSION)),
        ({}, {}, "resume", (*BASE, *EDITS, "--resume", SESSION)),
        ({}, {"model": "opus"}, "spawn", (*BASE, *EDITS, "--model", "opus", "--session-id", SESSION)),
        ({}, {"model": "opus"}, "resume", (*BASE, *EDITS, "--model", "opus", "--resume", SESSION)),
        ({"permissions": "ask"}, {}, "spawn", (*BASE, "--session-id", SESSION)),
        (
            {"permissions": "skip"},
            {"allow_unsandboxed_skip": True},
            "spawn",
            (*BASE, "--dangerously-skip-permissions", "--session-id", SESSION),
        ),
        ({}, {"schema": "{}"}, "spawn", (*BASE, *EDITS, "--json-schema", "{}", "--session-id", SESSION)),
        ({}, {"schema": "{}"}, "resume", (*BASE, *EDITS, "--json-schema", "{}", "--resume", SESSION)),
        ({"args": ("--bare",)}, {"session_id": ""}, "spawn", (*BASE, *EDITS, "--bare")),
    ],
)
def test_arguments(
    settings: dict[str, Any], call: dict[str, Any], verb: str, arguments: tuple[str, ...], program: str
) -> None:
    """Each setting has its flag; resume has the model and no --session-id (C13, C14)."""
    runner = MockCommandRunner([result_line()])
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program, **settings), runner)
    run(executor, verb, AgentCall("implementer", "the prompt", **{"session_id": SESSION, **call}))
    assert runner.last.argv == (program, *arguments)
    assert runner.last.stdin == b"the prompt"
    assert len(runner.commands) == 1


def test_environment_order(program: str) -> None:
    """The default variables are overridden by those of the call, and these by those of the settings."""
    runner = MockCommandRunner([result_line()])
    settings = ExecutorSettings(command=program, env={"B": "settings", "DISABLE_TELEMETRY": "0"})
    call = AgentCall("i", "p", env={"A": "call", "B": "call", "CLAUDE_CODE_MAX_RETRIES": "7"})
    run(ClaudeExecutor("claude", settings, runner), "spawn", call)
    assert runner.last.env == {
        "A": "call",
        "B": "settings",
        "CLAUDE_CODE_MAX_RETRIES": "7",
        "DISABLE_TELEMETRY": "0",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


def test_limits_of_the_call_reach_the_runner(program: str) -> None:
    """The command has the timeouts, directory and transcript of the call."""
    runner = MockCommandRunner([result_line()])
    call = AgentCall("i", "p", cwd="/w", transcript="/t", timeout_seconds=1.0, idle_timeout_seconds=2.0)
    run(ClaudeExecutor("claude", ExecutorSettings(command=program), runner), "spawn", call)
    last = runner.last
    assert (last.cwd, last.transcript, last.timeout_seconds, last.idle_timeout_seconds) == (
        "/w",
        "/t",
        1.0,
        2.0,
    )


@pytest.mark.parametrize(
    ("prompt", "stdin"),
    [
        ("fix it", b"fix it"),
        ("/cost", b"\n/cost"),
        ("\n /compact now", b"\n /compact now"),
        ("a /b", b"a /b"),
        ("half \ud800", b"half ?"),
    ],
)
def test_prompt_is_never_a_slash_command(prompt: str, stdin: bytes) -> None:
    """A prompt that starts with a slash is passed as text."""
    assert encode_prompt(prompt) == stdin


def scripted_runner(*endings: tuple[list[bytes], Exit]) -> MockCommandRunner:
    queue = list(endings)

    async def play(command: Command, sink: Sink) -> Exit:
        lines, exit = queue.pop(0)
        for line in lines:
            sink(line)
        return exit

    return MockCommandRunner(run_function=play)


IN_USE = ([], Exit(1, 0.25, stderr_tail=f"Error: Session ID {SESSION} is already in use.\n"))
UNKNOWN = (
    [result_line(is_error=True, result=None, errors=[f"No conversation found with session ID: {SESSION}"])],
    Exit(1, 0.25),
)
UNKNOWN_OLD = ([], Exit(1, 0.25, stderr_tail=f"No conversation found with session ID: {SESSION}"))
GOOD = ([result_line(session_id=SESSION)], Exit(0, 1.0))


def test_spawn_of_a_taken_id_resumes(program: str) -> None:
    """After a crash the session id exists: the session is resumed, and that is reported."""
    runner = scripted_runner(IN_USE, GOOD)
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    result, events = run(executor, "spawn", AgentCall("i", "p", SESSION))
    assert result.ok
    assert result.duration_seconds == 1.25
    assert events[0] == SessionReplaced(SESSION, resumed=True)
    assert "--resume" in runner.last.argv


@pytest.mark.parametrize("unknown", [UNKNOWN, UNKNOWN_OLD])
def test_resume_of_an_unknown_id_spawns(unknown: tuple[list[bytes], Exit], program: str) -> None:
    """A session that does not exist is started with the same id and the fresh prompt."""
    runner = scripted_runner(unknown, GOOD)
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    call = AgentCall("i", "go on", SESSION, fresh_prompt=fresh("role, task, go on"))
    result, events = run(executor, "resume", call)
    assert result.ok
    assert SessionReplaced(SESSION, resumed=False) in events
    assert runner.last.argv[-2:] == ("--session-id", SESSION)
    assert runner.last.stdin == b"role, task, go on"


@pytest.mark.parametrize("session", [SESSION, ""])
def test_resume_without_a_fresh_prompt_starts_no_new_session(session: str, program: str) -> None:
    """A12: a session that is lost, or has no id, is SESSION_NOT_FOUND outside a task."""
    runner = scripted_runner(UNKNOWN, GOOD)
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    result, events = run(executor, "resume", AgentCall("i", "go on", session))
    assert result.code is Code.SESSION_NOT_FOUND and result.message
    assert not any(isinstance(event, SessionReplaced) for event in events)
    assert ["--session-id" in command.argv for command in runner.commands] == [False] * bool(session)


@pytest.mark.parametrize(
    ("verb", "first", "second"), [("spawn", IN_USE, UNKNOWN), ("resume", UNKNOWN, IN_USE)]
)
def test_each_session_rule_applies_once(verb: str, first: Any, second: Any, program: str) -> None:
    """An agent with contradicting errors gets one new id, and is not started a fourth time."""
    runner = scripted_runner(first, second, second)
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    result, _ = run(executor, verb, AgentCall("i", "p", SESSION, fresh_prompt=fresh("all of it")))
    assert result.code in (Code.SESSION_NOT_FOUND, Code.SESSION_IN_USE)
    assert len(runner.commands) == 3


@pytest.mark.parametrize(
    ("version", "before", "reported", "cost", "total"),
    [
        ("2.1.325", 0.0, 0.5, 0.5, 0.5),
        ("2.1.325", 0.5, 0.75, 0.25, 0.75),
        ("2.1.325", 0.5, 0.0, 0.0, 0.5),  # failed before its first request
        ("2.1.325", 0.5, 0.25, 0.25, 0.25),  # the agent replaced the session without a notice
        ("2.1.198", 0.5, 0.75, 0.25, 0.75),
        ("2.1.197", 0.5, 0.75, 0.75, 1.25),
        ("2.0.9", 0.5, 0.75, 0.75, 1.25),
        ("3.0", 0.5, 0.75, 0.25, 0.75),
        ("", 0.5, 0.75, 0.25, 0.75),
        ("2.1.325", 0.5, None, None, None),
    ],
)
def test_cost_of_the_attempt(
    version: str, before: float, reported: float | None, cost: float | None, total: float | None, program: str
) -> None:
    """Newer versions report the cost of the session, older ones that of the run (C78)."""
    runner = MockCommandRunner([init_line(version), result_line(total_cost_usd=reported)])
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    result, _ = run(executor, "resume", AgentCall("i", "p", SESSION, session_cost_usd=before))
    assert (result.cost_usd, result.session_cost_usd) == (cost, total)


@pytest.mark.parametrize(
    ("result", "exit", "code"),
    [
        ({}, Exit(0, 1.0), None),
        ({}, Exit(-15, 1.0, StopReason.TIMEOUT), None),
        ({}, Exit(-9, 1.0, StopReason.IDLE), None),
        ({}, Exit(143, 1.0, StopReason.AFTER_RESULT), None),
        ({}, Exit(1, 1.0), Code.AGENT_FAILED),
        ({}, Exit(-9, 1.0), Code.AGENT_KILLED),
        ({"subtype": "error_during_execution"}, Exit(0, 1.0), None),
        ({"result": " \n"}, Exit(0, 1.0), Code.RESPONSE_EMPTY),
        ({"result": None}, Exit(0, 1.0), Code.RESPONSE_EMPTY),
        ({"result": ""}, Exit(-15, 1.0, StopReason.AFTER_RESULT), Code.RESPONSE_EMPTY),
        ({"is_error": True, "subtype": "success"}, Exit(0, 1.0), Code.AGENT_FAILED),
        ({"is_error": True, "api_error_status": 529}, Exit(-15, 1.0, StopReason.TIMEOUT), Code.OVERLOADED),
        ({"is_error": 7, "total_cost_usd": "much", "usage": []}, Exit(0, 1.0), None),
        ({"result": "API Error: 529 Overloaded"}, Exit(0, 1.0), Code.OVERLOADED),
        ({"result": "Credit balance is too low"}, Exit(0, 1.0), Code.BILLING),
        ({"result": "The text says API Error: 529"}, Exit(0, 1.0), None),
        (
            {"result": "API Error: 529 is now retried.\n<phase_complete>true</phase_complete>"},
            Exit(0, 1.0),
            None,
        ),
    ],
)
def test_result_and_exit_decide(result: dict[str, Any], exit: Exit, code: Code | None, program: str) -> None:
    """The last result and the exit decide; the subtype and the text of the agent do not."""
    runner = MockCommandRunner([result_line(**result)], exit)
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    ended, _ = run(executor, "spawn", AgentCall("i", "p", SESSION))
    assert ended.code is code, ended.message


@pytest.mark.parametrize(("status", "final"), [(400, True), (422, True), (409, False), (529, False)])
def test_a_rejected_request_is_final(status: int, final: bool, program: str) -> None:
    """K12: the same request would be rejected again."""
    runner = MockCommandRunner(
        [result_line(is_error=True, api_error_status=status, result="no")], Exit(1, 1.0)
    )
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    ended, _ = run(executor, "spawn", AgentCall("i", "p", SESSION))
    assert (ended.code is not None, ended.final) == (True, final)


@pytest.mark.parametrize(
    ("exit", "code"),
    [
        (Exit(0, 1.0, stdout_bytes=90), Code.NO_RESULT),
        (Exit(0, 1.0), Code.RESPONSE_EMPTY),
        (Exit(1, 1.0), Code.AGENT_FAILED),
        (Exit(2, 1.0), Code.AGENT_FAILED),
        (Exit(126, 1.0), Code.AGENT_NOT_FOUND),
        (Exit(127, 1.0), Code.AGENT_NOT_FOUND),
        (Exit(130, 1.0), Code.AGENT_KILLED),
        (Exit(137, 1.0), Code.AGENT_KILLED),
        (Exit(139, 1.0), Code.AGENT_KILLED),
        (Exit(143, 1.0), Code.AGENT_KILLED),
        (Exit(-9, 1.0), Code.AGENT_KILLED),
        (Exit(-64, 1.0), Code.AGENT_KILLED),
        (Exit(-15, 1.0, StopReason.TIMEOUT), Code.TIMEOUT),
        (Exit(-9, 1.0, StopReason.IDLE), Code.IDLE_TIMEOUT),
        (Exit(1, 1.0, stderr_tail="error: unknown option '--verbose'"), Code.AGENT_INCOMPATIBLE),
        (Exit(1, 1.0, stderr_tail="Error: piped stdin input exceeds 10MB"), Code.PROMPT_TOO_LARGE),
        (Exit(1, 1.0, stderr_tail="Invalid API key · Please run /login"), Code.AUTH_FAILED),
    ],
)
def test_no_result(exit: Exit, code: Code, program: str) -> None:
    """Without a result the exit and stderr decide (A15, A18, A30)."""
    runner = MockCommandRunner([init_line("2.1.325")], exit)
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    result, _ = run(executor, "spawn", AgentCall("i", "p", SESSION))
    assert result.code is code
    assert result.message.startswith("claude ")
    assert "\n" not in result.message


def test_waiting_for_the_provider_is_the_reason(program: str) -> None:
    """When claude exits during its retries, the code is that of the failure that it retried."""
    members = {"retry_delay_ms": 500, "error": "rate_limit", "error_status": 429}
    retry = json.dumps({"type": "system", "subtype": "api_retry", **members}).encode()
    for exit, code in ((Exit(1, 1.0), Code.RATE_LIMITED), (Exit(-15, 1.0, StopReason.TIMEOUT), Code.TIMEOUT)):
        executor = ClaudeExecutor(
            "claude", ExecutorSettings(command=program), MockCommandRunner([retry], exit)
        )
        result, _ = run(executor, "spawn", AgentCall("i", "p", SESSION))
        assert result.code is code


@pytest.mark.parametrize("odd", ["--dangerously-skip-permissions", "a b", "", "x" * 200, "../up"])
def test_odd_session_id_is_not_taken_over(odd: str, program: str) -> None:
    """An id that looks like an option or a path is ignored."""
    runner = MockCommandRunner([result_line(session_id=odd)])
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    assert run(executor, "spawn", AgentCall("i", "p", SESSION))[0].session_id == SESSION


def test_reported_session_id_replaces_ours(program: str) -> None:
    """A forked session has a new id, which is resumed from then on."""
    runner = MockCommandRunner([result_line(session_id="another-one")])
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    assert run(executor, "spawn", AgentCall("i", "p", SESSION))[0].session_id == "another-one"


def test_quota_names_when_it_comes_back(program: str) -> None:
    """An exhausted quota with a reset time has a delay."""
    line = result_line(is_error=True, result=f"Claude AI usage limit reached|{int(time.time()) + 1000}")
    runner = MockCommandRunner([line], Exit(1, 1.0))
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    result, _ = run(executor, "spawn", AgentCall("i", "p", SESSION))
    assert result.code is Code.QUOTA_EXCEEDED
    assert result.retry_after_seconds == pytest.approx(1000.0, abs=60.0)


def test_refused_start_is_a_result(program: str) -> None:
    """A program that cannot be started is a result, not an exception."""

    async def refuse(command: Command, sink: Sink) -> Exit:
        raise SpawnError(Code.SPAWN_FAILED, "no more processes", "close some", 11)

    executor = ClaudeExecutor(
        "claude", ExecutorSettings(command=program), MockCommandRunner(run_function=refuse)
    )
    result, _ = run(executor, "spawn", AgentCall("i", "p", SESSION))
    assert (result.code, result.message) == (Code.SPAWN_FAILED, "no more processes (close some)")


def test_missing_program_names_the_install_command() -> None:
    """The error names the command that installs the program and the places that were searched."""
    executor = ClaudeExecutor("claude", ExecutorSettings(command="/nowhere/claude"), MockCommandRunner())
    with pytest.raises(AgentUnavailable) as caught:
        executor.validate_availability()
    assert "/nowhere/claude" in caught.value.message
    assert "npm install -g @anthropic-ai/claude-code" in caught.value.hint
    result, _ = run(executor, "spawn", AgentCall("i", "p"))
    assert result.code is Code.AGENT_NOT_FOUND


def test_named_instance_has_its_own_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OSTLER_WORK_PATH applies to the instance work; without it OSTLER_CLAUDE_PATH applies."""
    own, shared = fake_claude(tmp_path / "own"), fake_claude(tmp_path / "shared")
    monkeypatch.setenv("OSTLER_CLAUDE_PATH", str(shared))
    assert CLAUDE.find(instance="work").path == str(shared)
    monkeypatch.setenv("OSTLER_WORK_PATH", str(own))
    assert CLAUDE.find(instance="work").path == str(own)


@pytest.mark.parametrize(
    ("members", "code", "text"),
    [
        ({"result": '{"a":1}', "structured_output": {"a": 1}}, None, '{"a":1}'),
        ({"result": "", "structured_output": {"a": "é"}}, None, '{"a":"é"}'),
        ({"result": "I will not.", "structured_output": None}, None, "I will not."),
        ({"result": "I will not."}, None, "I will not."),
        ({"is_error": True, "result": "no", "structured_output": {"a": 1}}, Code.AGENT_FAILED, ""),
    ],
)
def test_the_object_that_a_schema_asked_for_is_the_text(
    members: dict[str, Any], code: Code | None, text: str, program: str
) -> None:
    """The structured output is the text; without one the final text is the answer."""
    line = json.dumps({"type": "result", "is_error": False, **members}, ensure_ascii=False).encode()
    runner = MockCommandRunner([line.replace(b": ", b":")])
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program), runner)
    result, _ = run(executor, "spawn", AgentCall("i", "p", SESSION, schema="{}"))
    assert (result.code, result.text) == (code, text)
