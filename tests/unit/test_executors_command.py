"""Any program as an agent, and the presets."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from ostler.calls.attempts.page import AttemptPage, read_response
from ostler.cli.terminal.log_lines import LogRenderer, LogStyle
from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.command import PRESETS, CommandExecutor
from ostler.executors.permissions import WITHOUT_CHECKS
from ostler.executors.registry import ExecutorRegistry
from ostler.model.attempt import Attempt
from ostler.model.call import AgentCall, AgentEvent, CallResult, RetryReported, TextReceived, ToolUsed
from ostler.model.command import Command, Exit, Sink, StopReason
from ostler.model.ids import TaskId
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.mocks import MockCommandRunner


def run_shell(script: str, tmp_path: Path, *args: str, prompt: str = "the prompt") -> CallResult:
    settings = ExecutorSettings(command="sh", args=("-c", script, *args))
    executor = CommandExecutor("mine", settings, DefaultCommandRunner())
    places = {"cwd": str(tmp_path), "transcript": str(tmp_path / "transcript")}
    call = AgentCall("i", prompt, "s-1", env={"PATH": "/usr/bin:/bin"}, **places)
    return asyncio.run(executor.spawn(call, lambda _: None))


def test_prompt_goes_to_stdin(tmp_path: Path) -> None:
    """Without {prompt_file} the prompt is passed on stdin, and the output is the answer."""
    assert run_shell("tr a-z A-Z", tmp_path).text == "THE PROMPT"


def test_the_lines_of_the_output_stay_together(tmp_path: Path) -> None:
    """In the page and in the terminal: no empty line between them that the program did not print."""
    events: list[AgentEvent] = []
    script = "echo; echo one; echo '  two'; echo; echo; echo three"
    executor = CommandExecutor(
        "mine", ExecutorSettings(command="sh", args=("-c", script)), DefaultCommandRunner()
    )
    call = AgentCall("i", "x", "s-1", env={"PATH": "/usr/bin:/bin"}, cwd=str(tmp_path))
    asyncio.run(executor.spawn(call, events.append))
    texts = [TextReceived("one", True), TextReceived("  two", True), TextReceived("\nthree", True)]
    assert [one for one in events if isinstance(one, TextReceived)] == texts

    page = AttemptPage(tmp_path / "page.md", Attempt(TaskId("t"), "key", "run", "test", 1, "mine", 0.0), "x")
    renderer, shown = LogRenderer(LogStyle()), list[str]()
    for event in (*texts, ToolUsed("Edit", "a.txt"), *texts):
        page.write_events([event])
        shown += renderer.render({"at": 0.0, "id": "", **msgspec.json.decode(msgspec.json.encode(event))})
    page.close()
    lines = ["one", "  two", "", "three"]
    assert read_response((tmp_path / "page.md").read_text()).splitlines() == [
        *lines, "", "- Edit a.txt", "", *lines
    ]  # fmt: skip
    assert shown[:4] == lines and shown[-4:] == lines


def test_prompt_file_is_private_and_whole(tmp_path: Path) -> None:
    """With {prompt_file} the prompt is in a private file beside the transcript."""
    result = run_shell('cat "$1"; stat -c " %a" "$1"; cat', tmp_path, "x", "{prompt_file}")
    assert result.text == "the prompt 600"
    assert (tmp_path / "transcript.prompt").read_text() == "the prompt"


def test_prompt_file_without_a_transcript_is_removed() -> None:
    """Without a transcript the prompt file is removed after the call."""
    captured: list[str] = []

    async def look(command: Command, sink: Sink) -> Exit:
        captured.extend((command.argv[1], Path(command.argv[1]).read_text()))
        return Exit(0, 0.0)

    settings = ExecutorSettings(command="true", args=("{prompt_file}",))
    executor = CommandExecutor("mine", settings, MockCommandRunner(run_function=look))
    assert asyncio.run(executor.spawn(AgentCall("i", "secret"), lambda _: None)).ok
    assert captured[1] == "secret"
    assert not Path(captured[0]).exists()


def test_places_are_filled_once(tmp_path: Path) -> None:
    """Placeholders are replaced once; other braces are not changed."""
    runner = MockCommandRunner()
    settings = ExecutorSettings(command="true", args=("--m={model}", "{session_id}", '{"a": {}}', "{x}"))
    call = AgentCall("i", "p", "{model}", model="m-1")
    asyncio.run(CommandExecutor("mine", settings, runner).spawn(call, lambda _: None))
    assert runner.last.argv[1:] == ("--m=m-1", "{model}", '{"a": {}}', "{x}")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--model", "{model}", "--quiet"), ("--quiet",)),
        (("-m", "{model}", "run"), ("run",)),
        (("run", "{model}"), ("run",)),
        (("--quiet", "--model={model}", "x"), ("--quiet", "x")),
        (("--", "{model}"), ("--",)),
    ],
)
def test_without_a_model_its_option_is_omitted(args: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Else the program would take the next argument as the name of the model."""
    runner = MockCommandRunner()
    executor = CommandExecutor("mine", ExecutorSettings(command="true", args=args), runner)
    asyncio.run(executor.spawn(AgentCall("i", "p"), lambda _: None))
    assert runner.last.argv[1:] == expected
    asyncio.run(executor.spawn(AgentCall("i", "p", model="m"), lambda _: None))
    assert runner.last.argv[1:] == tuple(arg.replace("{model}", "m") for arg in args)


def test_a_program_that_is_not_set_names_its_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a command there is nothing to install; a variable that is set is what has to be corrected."""
    monkeypatch.setenv("PATH", str(tmp_path))
    executor = CommandExecutor("mine", ExecutorSettings(), DefaultCommandRunner())
    with pytest.raises(OstlerError) as caught:
        executor.validate_availability()
    assert caught.value.hint == "set executors.mine.command to your program"
    monkeypatch.setenv("OSTLER_MINE_PATH", "/nowhere/it")
    executor = CommandExecutor("mine", ExecutorSettings(command="other"), DefaultCommandRunner())
    with pytest.raises(
        OstlerError, match=r"^mine was not found; searched: OSTLER_MINE_PATH=/nowhere/it"
    ) as caught:
        executor.validate_availability()
    assert caught.value.hint == "install it, or correct OSTLER_MINE_PATH"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("true", None),
        ("exit 3", Code.AGENT_FAILED),
        ("exit 127", Code.AGENT_NOT_FOUND),
        ("kill -9 $$", Code.AGENT_KILLED),
        ("echo 'HTTP 429 Too Many Requests' >&2; exit 1", Code.RATE_LIMITED),
        ("echo 'Rate limit reached'; exit 1", Code.RATE_LIMITED),
        ("echo 'RESOURCE_EXHAUSTED'; exit 1", Code.RATE_LIMITED),
        ("echo 'status code: 429'; exit 1", Code.RATE_LIMITED),
        ("echo 'line 429 failed'; exit 1", Code.AGENT_FAILED),
        ("echo 'rate limit, 429'", None),
        ("echo 'stream disconnected before completion' >&2; exit 1", Code.STREAM_BROKEN),
    ],
)
def test_exit_code_decides(script: str, code: Code | None, tmp_path: Path) -> None:
    """Exit code 0 is a success even without output; a limit counts only after a failure (C36)."""
    result = run_shell(script, tmp_path)
    assert result.code is code, result.message


def test_the_end_of_a_quota_is_read(tmp_path: Path) -> None:
    """A time that the program prints is used for a quota, as for a rate limit."""
    text = "You hit your usage limit. Try again in 2 hours 5 minutes."
    result = run_shell(f"echo '{text}' >&2; exit 1", tmp_path)
    assert (result.code, result.retry_after_seconds) == (Code.QUOTA_EXCEEDED, 7500.0)


@pytest.mark.parametrize("script", ["echo '{}'; exit 1", "echo '{}' >&2; exit 1", "echo '{}'"])
def test_the_time_at_which_a_quota_ends_is_read(script: str, tmp_path: Path) -> None:
    """As the real claude prints it: the time in seconds since 1970."""
    ends_at = int(time.time()) + 1000
    result = run_shell(script.format(f"Claude AI usage limit reached|{ends_at}"), tmp_path)
    assert result.code is Code.QUOTA_EXCEEDED
    assert result.retry_after_seconds is not None and 900 < result.retry_after_seconds <= 1000


TOOL_OUTPUT = [
    "FAILED test_billing.py::test_banner - AssertionError: 'usage limit' not in page",
    "AssertionError: 'You have hit your usage limit' != ''",
    "page shows: usage limit reached, try again in 5 hours",
    "Error: usage limit reached, try again in 5 hours\\nmake: *** [test] stopped",
    "docker pull: HTTP 429, retrying in 6 hours",
]


@pytest.mark.parametrize("text", TOOL_OUTPUT)
def test_the_output_of_a_tool_is_no_quota(text: str, tmp_path: Path) -> None:
    """Only the last line can be a quota, and only in the form of an error."""
    for redirect in (">&2", ""):
        result = run_shell(f"printf '%b\\n' \"{text}\" {redirect}; exit 1", tmp_path)
        assert result.code in (Code.AGENT_FAILED, Code.RATE_LIMITED), result.message
        assert (result.windows, result.retry_after_seconds) == ((), None)


def retries_of(*lines: bytes) -> list[AgentEvent]:
    """Return the retries that the lines of the error output report."""

    async def run(command: Command, sink: Sink) -> Exit:
        assert command.on_error_line is not None
        for line in lines:
            command.on_error_line(line)
        return Exit(0, 0.0)

    events: list[AgentEvent] = []
    settings = ExecutorSettings(command="true")
    executor = CommandExecutor("mine", settings, MockCommandRunner(run_function=run))
    asyncio.run(executor.spawn(AgentCall("i", "p"), events.append))
    return [event for event in events if isinstance(event, RetryReported)]


def test_a_retry_of_a_tool_is_not_reported() -> None:
    """A program prints what its tools print: a retry is a line in the form of an error."""
    pip = b"WARNING: Retrying (Retry(total=4)) after connection broken: read timed out: /simple/foo/"
    docker = b"docker: 429 Too Many Requests: toomanyrequests, retrying in 6 hours with the mirror"
    assert retries_of(pip, docker) == []


def test_a_retry_is_reported_once_without_its_delay() -> None:
    """Neither the delay nor a series of lines ends the program: only silence does."""
    line = b"HTTP 429: rate limit reached, retrying in 2h"
    assert retries_of(line, line, line) == [RetryReported(Code.RATE_LIMITED, 0.0)]


def test_stop_is_never_success() -> None:
    """A program that was stopped has not succeeded."""
    runner = MockCommandRunner([b"half"], Exit(0, 1.0, StopReason.TIMEOUT))
    executor = CommandExecutor("mine", ExecutorSettings(command="true"), runner)
    result = asyncio.run(executor.spawn(AgentCall("i", "p"), lambda _: None))
    assert (result.code, result.text) == (Code.TIMEOUT, "")


def test_only_the_end_of_the_output_is_kept() -> None:
    """The last 64 KiB of the output are the final text, and every line is reported."""
    events: list[AgentEvent] = []
    runner = MockCommandRunner([b"x" * 999 for _ in range(500)] + [b"the end"])
    executor = CommandExecutor("mine", ExecutorSettings(command="true"), runner)
    result = asyncio.run(executor.spawn(AgentCall("i", "p"), events.append))
    assert len(result.text) <= 64 * 1024
    assert result.text.endswith("the end")
    assert len(events) == 502


def test_program_without_sessions_cannot_resume() -> None:
    """Resuming without {session_id} fails before a start, and the message names the setting."""
    runner = MockCommandRunner()
    executor = CommandExecutor("mine", ExecutorSettings(command="true"), runner)
    result = asyncio.run(executor.resume(AgentCall("i", "p", "s"), lambda _: None))
    assert result.code is Code.RESUME_UNSUPPORTED
    assert "executors.mine.args" in result.message
    assert runner.commands == []


@pytest.fixture
def program(tmp_path: Path) -> str:
    """Return a program that exists; the mock runner does not start it."""
    path = tmp_path / "agent"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("kind", PRESETS)
@pytest.mark.parametrize("model", ["", "m-1"])
def test_prompt_is_never_an_argument(kind: str, model: str, program: str) -> None:
    """The prompt is passed on stdin or in a file, and without a model there is no empty flag."""
    runner = MockCommandRunner()
    settings = ExecutorSettings(command=program, permissions="skip")
    executor = ExecutorRegistry().make(kind, {kind: settings}, runner)
    call = AgentCall("i", "the prompt", model=model, allow_unsandboxed_skip=True)
    asyncio.run(executor.spawn(call, lambda _: None))
    argv, stdin = runner.last.argv, runner.last.stdin
    assert not [arg for arg in argv if "the prompt" in arg or "{" in arg or arg.endswith("=")]
    assert stdin == (b"" if "--file" in argv else b"the prompt")
    assert ("--model=m-1" in argv) == (bool(model) and kind != "amp")


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (None, ("exec", "--auto", "low", "--extra")),
        (("run",), ("run", "--extra")),
        ((), ("--extra",)),
    ],
)
def test_arguments_are_added_to_a_preset(
    own: tuple[str, ...] | None, expected: tuple[str, ...], program: str
) -> None:
    """`args` come after the preset's own arguments, which only `preset_args` replaces (A4)."""
    runner = MockCommandRunner()
    settings = ExecutorSettings(command=program, args=("--extra",), preset_args=own)
    executor = ExecutorRegistry().make("droid", {"droid": settings}, runner)
    asyncio.run(executor.spawn(AgentCall("i", "p"), lambda _: None))
    argv = runner.last.argv[1:]
    assert (*argv[:3], argv[-1]) == expected if own is None else argv == expected


@pytest.mark.parametrize("kind", sorted(WITHOUT_CHECKS))
def test_agent_that_approves_every_tool_needs_skip(kind: str) -> None:
    """An agent that approves every tool needs permissions = "skip" or a sandbox (C22)."""
    runner = MockCommandRunner()
    careful = ExecutorSettings(permissions="accept-edits")
    executor = ExecutorRegistry().make(kind, {kind: careful}, runner)
    with pytest.raises(OstlerError, match="approves every tool") as caught:
        executor.validate_availability()
    result = asyncio.run(executor.spawn(AgentCall("i", "p"), lambda _: None))
    assert (result.code, runner.commands) == (Code.SANDBOX_UNAVAILABLE, [])
    assert caught.value.code is Code.SANDBOX_UNAVAILABLE
    assert f"executors.{kind}.permissions" in caught.value.hint
    unconfined = ExecutorRegistry().make(kind, {}, runner)
    result = asyncio.run(unconfined.spawn(AgentCall("i", "p"), lambda _: None))
    assert (result.code, runner.commands) == (Code.SANDBOX_UNAVAILABLE, [])


def test_agent_that_approves_every_tool_starts_in_a_sandbox(program: str) -> None:
    """permissions = "auto" allows it for a call in a sandbox whose self-test passed."""
    runner = MockCommandRunner()
    executor = ExecutorRegistry().make("crush", {"crush": ExecutorSettings(command=program)}, runner)
    asyncio.run(executor.spawn(AgentCall("i", "p", in_verified_sandbox=True), lambda _: None))
    assert len(runner.commands) == 1
