"""A run is evaluated by how it ended, not by the text of the agent about its work."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.acp.evaluate import describe_output, evaluate_conversation
from ostler.executors.model_api.executor import ModelApiExecutor
from ostler.executors.registry import ExecutorRegistry
from ostler.executors.retries import RetryLines
from ostler.executors.stream_state import StreamState
from ostler.llm.client import ClaudeResponse
from ostler.model.call import AgentCall, CallResult
from ostler.model.command import Exit, StopReason
from ostler.testing.fake_agent import fake_agent
from ostler.testing.mocks import MockClaudeClient, MockCommandRunner

SESSION = "00000000-0000-4000-8000-000000000001"
STREAMS = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "cursor")
KINDS = (*STREAMS, "command")
AGENT = describe_output("agent", RetryLines())
MARK = "<phase_complete>true</phase_complete>"

SCARY = (
    "HTTP 429 Too Many Requests (rate limit reached, RESOURCE_EXHAUSTED, rate_limit_error)",
    "API Error: 529 overloaded_error, the model is at capacity, status: 503",
    "quota exceeded, insufficient_quota: you hit your weekly limit, usage limit reached",
    "Credit balance is too low, payment required, billing, spend limit (402)",
    "401 Unauthorized: invalid API key, not logged in, authentication failed, please run /login",
    "The model gpt-9 does not exist (404), unknown model",
    "ECONNRESET, ETIMEDOUT, fetch failed, connection refused, request timed out, stream closed",
    "prompt is too long for the context window; output token maximum; max_output_tokens",
    "usage policy, content filter, safety, refused to answer",
    "unknown option --json, unexpected argument, No conversation found with session ID x",
    "Session ID x is already in use, session not found, no rollout found",
    "JavaScript heap out of memory, Killed, ENOENT reading .cache/opencode/node_modules",
)
ESSAY = "# How the client meets trouble\n\n" + "\n".join(f"- {line}" for line in SCARY) + "\n\nThat is all."
essays = st.lists(st.sampled_from([*SCARY, "I changed client.py.", "", "```"]), min_size=1, max_size=8).map(
    lambda lines: "\n".join(("What I did:", *lines, "and the tests say so."))
)

Reported = Callable[[Any, str], None]


def lines_of(kind: str, printed: Reported, text: str) -> list[bytes]:
    """Return the lines that this agent prints for a behaviour."""
    if kind == "command":
        return text.encode().splitlines()
    wire, out = import_module(f"ostler.testing.wires.{kind}"), io.BytesIO()
    behaviour = {"version": "2.1.325", "cost_usd": 0.1, "edits": {}, "error": 429, "error_message": text}
    agent = SimpleNamespace(
        session_id=SESSION, model=wire.MODEL, arguments=[], resumed=False, notes={}, history=[], prompt="p"
    )
    agent.__dict__.update(number=1, wire=wire, total_cost=0.0, behaviour=behaviour, charge=lambda cost: cost)
    agent.print_line = lambda line: out.write(json.dumps(line).encode() + b"\n")
    agent.print_bytes = out.write
    requested = _Asked(agent, behaviour)
    wire.init(requested)
    printed(requested, text)
    return out.getvalue().splitlines()


class _Asked:
    """The fake agent without a process."""

    def __init__(self, agent: SimpleNamespace, behaviour: dict[str, object]) -> None:
        self.__dict__.update(agent.__dict__)
        self._behaviour = behaviour

    def __getitem__(self, key: str) -> object:
        return self._behaviour[key]

    def option(self, _name: str) -> str:
        return ""


def answers(agent: Any, text: str) -> None:
    agent.wire.text(agent, text)
    agent.wire.result(agent, text)


def only_talks(agent: Any, text: str) -> None:
    agent.wire.text(agent, text)


def judged(kind: str, lines: list[bytes], exit: Exit, directory: Path) -> CallResult:
    wire = "claude" if kind == "command" else kind
    command = str(fake_agent(directory, wire))
    runner = MockCommandRunner(lines, exit)
    executor = ExecutorRegistry().get(kind)(kind, ExecutorSettings(command=command), runner)
    return asyncio.run(executor.spawn(AgentCall("i", "p", SESSION), lambda _: None))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(text=essays)
def test_a_success_about_errors_is_a_success(
    kind: str, text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An answer about 429 is not a rate limit (seed 000, mistake 1)."""
    directory = tmp_path_factory.mktemp("bin", numbered=True)
    lines = lines_of(kind, answers, text)
    result = judged(kind, lines, Exit(0, 9.0, stdout_bytes=sum(map(len, lines))), directory)
    assert result.ok, (result.code, result.message)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("printed", [only_talks, answers])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(text=essays)
def test_a_failure_is_not_explained_by_the_agents_own_text(
    kind: str, printed: Reported, text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Exit code 1 after a text about limits is AGENT_FAILED, with or without a result."""
    directory = tmp_path_factory.mktemp("bin", numbered=True)
    lines = lines_of(kind, printed, text)
    result = judged(kind, lines, Exit(1, 9.0, stdout_bytes=sum(map(len, lines))), directory)
    assert result.code is Code.AGENT_FAILED, result.message


@pytest.mark.parametrize("kind", KINDS)
def test_stderr_explains_a_failure(kind: str, tmp_path: Path) -> None:
    """After the same text an error line on stderr decides."""
    exit = Exit(1, 9.0, stdout_bytes=9, stderr_tail="Error: API Error: 429 Too Many Requests")
    result = judged(kind, lines_of(kind, only_talks, ESSAY), exit, tmp_path)
    assert result.code is Code.RATE_LIMITED, result.message


@pytest.mark.parametrize("text", [ESSAY, f"{ESSAY}\n\n{MARK}"])
def test_an_error_result_that_is_an_essay_is_no_evidence(text: str, tmp_path: Path) -> None:
    """Claude and cursor may repeat a long text in an error result: it is not the reason."""
    claude = {"type": "result", "subtype": "error_during_execution", "is_error": True, "result": text}
    cursor = {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}
    failed = {"type": "result", "is_error": True, "result": text}
    for kind, output in (("claude", [claude]), ("cursor", [cursor, failed])):
        lines = [json.dumps({**line, "session_id": SESSION}).encode() for line in output]
        result = judged(kind, lines, Exit(1, 9.0, stdout_bytes=9), tmp_path)
        assert result.code is Code.AGENT_FAILED, (kind, result.message)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}', Code.OVERLOADED),
        ("API Error: 429 Too Many Requests", Code.RATE_LIMITED),
        ("[API Error: 401 Incorrect API key provided]", Code.AUTH_FAILED),
        ("Credit balance is too low", Code.BILLING),
    ],
)
def test_an_answer_that_is_nothing_but_an_error_is_one(
    kind: str, text: str, code: Code, tmp_path: Path
) -> None:
    """A17: an answer that is only an API error is a failure, also with exit code 0."""
    lines = lines_of(kind, answers, text)
    result = judged(kind, lines, Exit(0, 1.0, stdout_bytes=sum(map(len, lines))), tmp_path)
    assert (result.code, result.text) == (code, ""), result.message


EXITS = {
    1: Code.AGENT_FAILED,
    2: Code.AGENT_FAILED,
    126: Code.AGENT_NOT_FOUND,
    127: Code.AGENT_NOT_FOUND,
    130: Code.AGENT_KILLED,
    137: Code.AGENT_KILLED,
    139: Code.AGENT_KILLED,
    143: Code.AGENT_KILLED,
    -9: Code.AGENT_KILLED,
    -11: Code.AGENT_KILLED,
}


@pytest.mark.parametrize("status", EXITS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_exit_has_its_code(kind: str, status: int, tmp_path: Path) -> None:
    """A18: each exit has its code, without output and after a text."""
    assert judged(kind, [], Exit(status, 1.0), tmp_path).code is EXITS[status]
    lines = lines_of(kind, only_talks, ESSAY)
    assert judged(kind, lines, Exit(status, 1.0, stdout_bytes=9), tmp_path).code is EXITS[status]


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernels_count_separates_oom_from_a_kill(kind: str, tmp_path: Path) -> None:
    """A18: 137 is AGENT_OOM when the kernel killed the process."""
    for status in (137, -9):
        exit = Exit(status, 1.0, stdout_bytes=9, oom_killed=True, stderr_tail="Error: rate limit (429)")
        result = judged(kind, lines_of(kind, only_talks, ESSAY), exit, tmp_path)
        assert result.code is Code.AGENT_OOM, result.message


@pytest.mark.parametrize("status", [137, -9])
def test_a_kill_after_an_error_of_no_meaning_is_a_kill(status: int, tmp_path: Path) -> None:
    """An unknown error does not hide how the process ended."""
    line = {"type": "error", "sessionID": SESSION, "error": {"name": "Odd", "data": {"message": "hm"}}}
    result = judged("opencode", [json.dumps(line).encode()], Exit(status, 1.0, stdout_bytes=9), tmp_path)
    assert result.code is Code.AGENT_KILLED, result.message


@pytest.mark.parametrize("start", ["", "Error: none is left.\n\n"])
def test_acp_is_evaluated_in_the_same_way(start: str) -> None:
    """A long text without tokens is not an error of the provider."""
    call, text = AgentCall("i", "p", SESSION), start + ESSAY
    talked, answered = StreamState(call, lambda _: None), StreamState(call, lambda _: None)
    talked.add_message(text)
    answered.add_message(text)
    answered.finish()
    assert evaluate_conversation(call, answered, Exit(1, 1.0), AGENT).ok
    assert evaluate_conversation(call, talked, Exit(1, 1.0, stdout_bytes=9), AGENT).code is Code.AGENT_FAILED


@pytest.mark.parametrize("text", [ESSAY, "API Error: 529 is what the client now retries."])
def test_an_answer_of_a_model_api_is_one(text: str) -> None:
    """The protocol reports errors, so the text is the answer, whatever it contains."""
    client = MockClaudeClient(lambda _: ClaudeResponse(text, 1, 1, "end_turn"))
    runner = MockCommandRunner()
    executor = ModelApiExecutor("model_api", ExecutorSettings(), runner, lambda *_: client)
    result = asyncio.run(executor.spawn(AgentCall("i", "p", SESSION, model="m"), lambda _: None))
    assert (result.code, result.text) == (None, text)


SAMPLES = Path(__file__).parents[1] / "data"
STOPPED = Exit(-15, 1.0, StopReason.TIMEOUT, stdout_bytes=9)
EVERY: dict[Code, tuple[str, Exit]] = {
    Code.AGENT_NOT_FOUND: ("codex", Exit(127, 0.1)),
    Code.AGENT_INCOMPATIBLE: ("codex", Exit(2, 0.1, stderr_tail="error: unexpected argument '--json' found")),
    Code.AGENT_FAILED: ("codex", Exit(1, 1.0)),
    Code.AGENT_KILLED: ("codex", Exit(-11, 1.0)),
    Code.AGENT_OOM: ("codex", Exit(-9, 1.0, oom_killed=True)),
    Code.TIMEOUT: ("codex", STOPPED),
    Code.IDLE_TIMEOUT: ("codex", Exit(-15, 1.0, StopReason.IDLE)),
    Code.NEEDS_INPUT: ("codex", Exit(-15, 1.0, StopReason.NEEDS_INPUT, "Log in?")),
    Code.NO_RESULT: ("opencode/run_tool_rejected", Exit(0, 1.0, stdout_bytes=9)),
    Code.RESPONSE_EMPTY: ("codex/err_empty", Exit(0, 1.0, stdout_bytes=9)),
    Code.SESSION_NOT_FOUND: ("codex", Exit(1, 0.1, stderr_tail="Error: no rollout found for thread id 17ad")),
    Code.SESSION_IN_USE: ("qwen", Exit(1, 0.1, stderr_tail="Error: Session Id 88eb is already in use.")),
    Code.OUTPUT_LIMIT: ("codex/err_max_tokens", Exit(1, 1.0)),
    Code.RATE_LIMITED: ("claude/err_429_nora", Exit(1, 1.0)),
    Code.QUOTA_EXCEEDED: ("codex/err_429quota", Exit(1, 1.0)),
    Code.BILLING: ("claude/err_credit", Exit(1, 1.0)),
    Code.OVERLOADED: ("claude/err_529", Exit(1, 1.0)),
    Code.AUTH_FAILED: ("gemini/err_401", Exit(145, 1.0)),
    Code.MODEL_NOT_FOUND: ("copilot/err_404", Exit(1, 1.0)),
    Code.API_ERROR: ("claude/err_400", Exit(1, 1.0)),
    Code.NETWORK: ("claude/err_connrefused", Exit(1, 1.0)),
    Code.STREAM_BROKEN: ("codex/err_drop", Exit(1, 1.0)),
    Code.PROMPT_TOO_LARGE: ("claude/err_prompt_too_long", Exit(1, 1.0)),
    Code.REFUSED: ("claude/err_refusal", Exit(1, 1.0)),
    Code.ITERATION_LIMIT: ("claude/err_unlimited_turns_maxturns2", Exit(1, 1.0)),
    Code.BUDGET_EXCEEDED: ("claude/err_budget", Exit(1, 1.0)),
}
NOT_OF_ONE_RUN = {
    Code.SPAWN_FAILED,  # nothing ran
    Code.RESUME_UNSUPPORTED,  # nor here
    *(Code.CRASH_LOOP, Code.MODELS_EXHAUSTED, Code.SLOT_TIMEOUT),  # the worker's
}


@pytest.mark.parametrize("code", EVERY)
def test_every_code_has_evidence(code: Code, tmp_path: Path) -> None:
    """Each code has one recorded run or one exit."""
    sample, exit = EVERY[code]
    kind, _, name = sample.partition("/")
    lines = (SAMPLES / kind / f"{name}.jsonl").read_bytes().splitlines() if name else []
    assert judged(kind, lines, exit, tmp_path).code is code


def test_no_code_is_left_out() -> None:
    """All codes of agents and models are covered, and two codes of tasks."""
    codes = list(Code)
    of_runs = set(codes[: codes.index(Code.TASK_NOT_EXECUTABLE)]) - NOT_OF_ONE_RUN
    assert set(EVERY) == of_runs | {Code.ITERATION_LIMIT, Code.BUDGET_EXCEEDED}
