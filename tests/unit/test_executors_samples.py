"""Every recorded run of the other agents is evaluated."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    CallResult,
    LineSkipped,
    RetryReported,
    SessionStarted,
    TextReceived,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageReported,
)
from ostler.model.command import Exit
from ostler.model.usage import Usage
from ostler.testing.fake_agent import fake_agent
from ostler.testing.mocks import MockCommandRunner

SAMPLES = Path(__file__).parents[1] / "data"
OURS = "00000000-0000-4000-8000-000000000001"


class Expected(NamedTuple):
    status: int  # the exit status that the program had
    code: Code | None
    text: str = ""
    total: int = 0  # tokens, input and output
    tools: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


SHELL = ("run_shell_command",)

EXPECTED: dict[str, Expected] = {
    "codex/exec_text": Expected(0, None, "Hello codex", 15),
    "codex/exec_resume": Expected(0, None, "Second", 30),
    "codex/exec_tool_bypass": Expected(0, None, "Done", 30, ("shell",)),
    "codex/exec_tool_default_sandbox": Expected(0, None, "Done", 30),
    "codex/exec_tool_workspace_write": Expected(0, None, "Done", 30),
    "codex/err_400": Expected(1, Code.API_ERROR),
    "codex/err_401": Expected(1, Code.AUTH_FAILED),
    "codex/err_404": Expected(1, Code.AGENT_FAILED),
    "codex/err_429": Expected(1, Code.RATE_LIMITED),
    "codex/err_429quota": Expected(1, Code.QUOTA_EXCEEDED),
    "codex/err_500": Expected(1, Code.OVERLOADED),
    "codex/err_503": Expected(1, Code.OVERLOADED),
    "codex/err_drop": Expected(1, Code.STREAM_BROKEN),
    "codex/err_empty": Expected(0, Code.RESPONSE_EMPTY, total=15),
    "codex/err_failed_event": Expected(1, Code.OVERLOADED),
    "codex/err_max_tokens": Expected(1, Code.OUTPUT_LIMIT),
    "gemini/stream_text": Expected(0, None, "Hello gem", 15),
    "gemini/stream_tool_default": Expected(0, None, "Done", 30, SHELL, SHELL),
    "gemini/stream_tool_auto_edit": Expected(0, None, "Done", 30, SHELL, SHELL),
    "gemini/stream_tool_yolo": Expected(0, None, "Done", 30, SHELL),
    "gemini/err_401": Expected(145, Code.AUTH_FAILED),
    "gemini/err_429": Expected(173, Code.RATE_LIMITED),
    "gemini/err_empty": Expected(0, Code.RESPONSE_EMPTY, total=60),
    "opencode/run_text": Expected(0, None, "Hello oc", 15),
    "opencode/run_tool": Expected(0, None, "Done", 30, ("bash",)),
    "opencode/run_tool_rejected": Expected(0, Code.NO_RESULT, "", 15, ("bash",), ("bash",)),
    "opencode/run_tool_denied": Expected(0, None, "Done", 30, ("bash",), ("bash",)),
    "opencode/err_401": Expected(1, Code.AUTH_FAILED),
    "opencode/err_empty": Expected(0, Code.RESPONSE_EMPTY, total=15),
    "opencode/err_max_tokens": Expected(0, None, "cut", 15),
    "qwen/stream_text_0.15.10": Expected(0, None, "Hello qw", 30),
    "qwen/stream_text_0.24.4": Expected(0, None, "Hello qw", 30),
    "qwen/stream_tool_yolo_0.15.10": Expected(0, None, "Done", 30, SHELL),
    "qwen/stream_tool_yolo_0.24.4": Expected(0, None, "Done", 30, SHELL),
    "qwen/stream_tool_declined_0.15.10": Expected(0, None, "Done", 30, SHELL, SHELL),
    "qwen/err_401_0.15.10": Expected(0, Code.AUTH_FAILED),
    "copilot/text": Expected(0, None, "Hello cp"),
    "copilot/tool_allow_all": Expected(0, None, "Done", tools=("bash",)),
    "copilot/tool_denied": Expected(0, None, "Done", tools=("bash",), denied=("bash",)),
    "copilot/err_401": Expected(1, Code.AUTH_FAILED),
    "copilot/err_404": Expected(1, Code.MODEL_NOT_FOUND),
    "copilot/err_429": Expected(1, Code.RATE_LIMITED),
    "copilot/err_empty": Expected(1, Code.RESPONSE_EMPTY),
}


def play(
    sample: str, exit: Exit, directory: Path, call: AgentCall | None = None
) -> tuple[CallResult, list[AgentEvent]]:
    """Read the sample with the executor of its agent, without a program."""
    kind, _, name = sample.partition("/")
    lines = (SAMPLES / kind / f"{name}.jsonl").read_bytes().splitlines() if name else []
    settings = ExecutorSettings(command=str(fake_agent(directory, kind)))
    executor = ExecutorRegistry().get(kind)(kind, settings, MockCommandRunner(lines, exit))
    events: list[AgentEvent] = []
    return asyncio.run(executor.spawn(call or AgentCall("i", "p", OURS), events.append)), events


@pytest.mark.parametrize("sample", EXPECTED)
def test_sample_is_evaluated(sample: str, tmp_path: Path) -> None:
    """Each recorded run has its code, text, usage and tools, and every line is read."""
    expected = EXPECTED[sample]
    result, events = play(sample, Exit(expected.status, 1.0, stdout_bytes=1), tmp_path)
    assert (result.code, result.text) == (expected.code, expected.text), result.message
    assert result.usage.total == expected.total
    assert tuple(event.tool for event in events if isinstance(event, ToolUsed)) == expected.tools
    assert tuple(event.tool for event in events if isinstance(event, ToolDenied)) == expected.denied
    assert ("PERMISSION_DENIED" in result.warnings) == bool(expected.denied)
    assert not [event for event in events if isinstance(event, LineSkipped)]


@pytest.mark.parametrize("sample", EXPECTED)
def test_session_is_reported_once(sample: str, tmp_path: Path) -> None:
    """Each run reports its session once, and the result has the id of the agent."""
    result, events = play(sample, Exit(EXPECTED[sample].status, 1.0), tmp_path)
    started = [event.session_id for event in events if isinstance(event, SessionStarted)]
    assert len(started) == 1
    assert result.session_id == started[0] or sample.startswith("copilot/")  # named ours, recorded elsewhere


RETURNED = {
    "codex/exec_tool_bypass": "hi",
    "gemini/stream_tool_yolo": "",
    "opencode/run_tool": "(no output)",
    "qwen/stream_tool_yolo_0.15.10": "Command: echo hi > file.txt",
    "qwen/stream_tool_yolo_0.24.4": "Command: echo hi > file.txt",
    "copilot/tool_allow_all": "<shellId: 0 completed with exit code 0>",
}


@pytest.mark.parametrize("sample", RETURNED)
def test_tool_is_reported_with_its_input_and_what_it_returned(sample: str, tmp_path: Path) -> None:
    """The input of a tool names the command; the result has the id of the use."""
    _, events = play(sample, Exit(0, 1.0), tmp_path)
    (used,) = [event for event in events if isinstance(event, ToolUsed)]
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert "echo hi > file.txt" in msgspec.json.decode(used.input)["command"]
    assert used.id and (returned.id, returned.failed) == (used.id, False)
    assert returned.text.strip().partition("\n")[0] == RETURNED[sample]


@pytest.mark.parametrize("sample", EXPECTED)
def test_nothing_returns_that_was_not_used(sample: str, tmp_path: Path) -> None:
    """Every result belongs to a reported use, and comes once."""
    _, events = play(sample, Exit(EXPECTED[sample].status, 1.0), tmp_path)
    used: list[str] = []
    for event in events:
        if isinstance(event, ToolUsed):
            used.append(event.id)
        elif isinstance(event, ToolReturned):
            used.remove(event.id)


def test_all_samples_are_expected() -> None:
    """Each sample has an expected result here."""
    kinds = {name.partition("/")[0] for name in EXPECTED}
    there = {f"{kind}/{path.stem}" for kind in kinds for path in (SAMPLES / kind).glob("*.jsonl")}
    assert there == set(EXPECTED)


def test_codex_counts_only_what_the_run_added(tmp_path: Path) -> None:
    """The usage is that of the thread without the earlier runs; a smaller total is a new thread."""
    call = AgentCall("i", "p", OURS, session_usage=Usage(10, 5))
    result, events = play("codex/exec_resume", Exit(0, 1.0), tmp_path, call)
    assert (result.usage, result.session_usage) == (Usage(10, 5), Usage(20, 10))
    assert UsageReported(Usage(10, 5)) in events
    larger = AgentCall("i", "p", OURS, session_usage=Usage(1000, 5))
    assert play("codex/exec_resume", Exit(0, 1.0), tmp_path, larger)[0].usage == Usage(20, 10)


def test_codex_reconnecting_is_a_wait(tmp_path: Path) -> None:
    """An error while codex reconnects is reported as a retry with its reason."""
    _, events = play("codex/err_429", Exit(1, 1.0), tmp_path)
    waits = [event for event in events if isinstance(event, RetryReported)]
    assert [wait.code for wait in waits] == [Code.RATE_LIMITED] * 5


def test_gemini_pieces_become_one_message(tmp_path: Path) -> None:
    """Deltas are reported as one text."""
    _, events = play("gemini/stream_tool_auto_edit", Exit(0, 1.0), tmp_path)
    assert [event.text for event in events if isinstance(event, TextReceived)] == ["Done"]


def test_opencode_sums_its_steps(tmp_path: Path) -> None:
    """The cost is the sum of the steps; without a price it is unknown."""
    assert play("opencode/run_text", Exit(0, 1.0), tmp_path)[0].cost_usd is None
    paid, _ = play("opencode/err_max_tokens", Exit(0, 1.0), tmp_path)
    assert (paid.cost_usd, paid.warnings) == (0.00002, ("RESPONSE_TRUNCATED",))


LOST, TAKEN = Code.SESSION_NOT_FOUND, Code.SESSION_IN_USE

STDERR: dict[str, tuple[int, str, Code]] = {
    "codex unknown": (1, "Error: thread/resume failed: no rollout found for thread id 17ad", LOST),
    "codex flag": (2, "error: unexpected argument '--json' found", Code.AGENT_INCOMPATIBLE),
    "gemini unknown": (42, "Error resuming session: No previous sessions found for this project.", LOST),
    "gemini taken": (42, 'Error starting session: Session ID "df00" already exists. Use --resume', TAKEN),
    "gemini untrusted": (55, "", Code.AGENT_INCOMPATIBLE),
    "gemini login": (41, "", Code.AUTH_FAILED),
    "gemini 500": (244, "", Code.OVERLOADED),
    "qwen unknown": (1, "No saved session found with ID c341. Run `qwen --resume`", LOST),
    "qwen taken": (1, "Error: Session Id 88eb is already in use.", TAKEN),
    "opencode unknown": (1, "\x1b[91m\x1b[1mError: \x1b[0mSession not found", LOST),
    "copilot unknown": (1, "Error: No session, task, or name matched '135a'.\nTo resume", LOST),
    "cursor unknown": (1, "Error: Chat 135a not found", LOST),
    "cursor login": (1, "Authentication required. Run 'agent login'", Code.AUTH_FAILED),
    "cursor limit": (1, "You've hit your usage limit", Code.QUOTA_EXCEEDED),
}


@pytest.mark.parametrize("case", STDERR)
def test_refusal_on_stderr_has_its_code(case: str, tmp_path: Path) -> None:
    """An error before the start of a session has its code; the session is then started a second time."""
    kind, (status, printed, code) = case.partition(" ")[0], STDERR[case]
    result, _ = play(f"{kind}/", Exit(status, 0.1, stderr_tail=printed), tmp_path)
    assert result.code is code, result.message


@pytest.mark.parametrize("kind", ["codex", "gemini", "qwen", "opencode", "copilot", "cursor"])
def test_a_silent_good_exit_is_no_success(kind: str, tmp_path: Path) -> None:
    """After SIGTERM an agent may exit with 0: without a result that is a failure."""
    assert play(f"{kind}/", Exit(0, 0.1, stdout_bytes=9), tmp_path)[0].code is Code.NO_RESULT
    assert play(f"{kind}/", Exit(0, 0.1), tmp_path)[0].code is Code.RESPONSE_EMPTY
    assert play(f"{kind}/", Exit(-15, 0.1), tmp_path)[0].code is Code.AGENT_KILLED
