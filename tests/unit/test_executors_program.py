"""The agent programs: arguments, environment, sessions, discovery."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fresh_prompts import fresh
from ostler.config.settings import ExecutorSettings
from ostler.errors import AgentUnavailable, Code
from ostler.executors.discover import PROGRAMS, AgentProgram
from ostler.executors.health import probe_program
from ostler.executors.output import OutputFormat
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.program.spec import AgentSpec, decode_with
from ostler.executors.protocol import Capabilities, Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.executors.stream_state import StreamState
from ostler.model.call import AgentCall, AgentEvent, CallResult, SessionReplaced
from ostler.model.command import Command, Exit, Sink
from ostler.model.usage import Usage
from ostler.testing.fake_agent import fake_agent
from ostler.testing.mocks import MockCommandRunner

ID = "00000000-0000-4000-8000-000000000001"
AGENTS = ("codex", "copilot", "cursor", "gemini", "opencode", "qwen")
PERMISSIONS = ("ask", "accept-edits", "skip")


def executor(kind: str, directory: Path, runner: MockCommandRunner, **settings: Any) -> Executor:
    program = str(fake_agent(directory / "bin", kind))
    return ExecutorRegistry().get(kind)(kind, ExecutorSettings(command=program, **settings), runner)


def run(made: Executor, verb: str, call: AgentCall) -> tuple[CallResult, list[AgentEvent]]:
    events: list[AgentEvent] = []
    return asyncio.run(getattr(made, verb)(call, events.append)), events


def argv(kind: str, verb: str, directory: Path, **settings: Any) -> str:
    runner = MockCommandRunner()
    call = AgentCall("i", "the prompt", ID, model="m-1", allow_unsandboxed_skip=True)
    run(executor(kind, directory, runner, **settings), verb, call)
    return " ".join(runner.commands[0].argv[1:])


@pytest.mark.parametrize(
    ("kind", "verb", "expected"),
    [
        ("codex", "spawn", "--model m-1 -"),
        ("codex", "resume", f"--model m-1 {ID} -"),
        ("copilot", "spawn", f"--model m-1 --session-id {ID}"),
        ("copilot", "resume", f"--model m-1 --resume {ID}"),
        ("cursor", "spawn", "--print --output-format stream-json --model m-1"),
        ("cursor", "resume", f"--print --output-format stream-json --model m-1 --resume {ID}"),
        ("gemini", "spawn", f"--model m-1 --session-id {ID}"),
        ("gemini", "resume", f"--model m-1 --resume {ID}"),
        ("opencode", "spawn", "run --format json --model m-1"),
        ("opencode", "resume", f"run --format json --model m-1 --session {ID}"),
        ("qwen", "spawn", f"--model m-1 --session-id {ID}"),
        ("qwen", "resume", f"--model m-1 --resume {ID}"),
    ],
)
def test_model_and_session(kind: str, verb: str, expected: str, tmp_path: Path) -> None:
    """A resumed session has the model; only an agent that accepts a session id gets one."""
    assert argv(kind, verb, tmp_path).endswith(expected)


@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        ("codex", ('"read-only"', '"workspace-write"', "--dangerously-bypass-approvals-and-sandbox")),
        ("copilot", ("--disable-client-telemetry --model", "--allow-tool=write", "--allow-all-tools")),
        ("cursor", ("--mode ask", "stream-json --model", "--force")),
        ("gemini", ("--approval-mode default", "--approval-mode auto_edit", "--approval-mode yolo")),
        ("opencode", ("json --model", "json --model", "--auto")),
        ("qwen", ("--approval-mode default", "--approval-mode auto-edit", "--approval-mode yolo")),
    ],
)
def test_permissions(kind: str, flags: tuple[str, str, str], tmp_path: Path) -> None:
    """Each permission has its flag, also on resume (C22)."""
    for permission, flag in zip(PERMISSIONS, flags, strict=True):
        for verb in ("spawn", "resume"):
            assert flag in argv(kind, verb, tmp_path, permissions=permission)


@pytest.mark.parametrize("kind", AGENTS)
def test_prompt_is_on_stdin_alone(kind: str, tmp_path: Path) -> None:
    """A prompt that looks like options or a slash command is text, and is not in the arguments."""
    runner = MockCommandRunner()
    made = executor(kind, tmp_path, runner, args=("--own",))
    run(made, "spawn", AgentCall("i", "/help --yolo", ID))
    assert runner.last.stdin == b"\n/help --yolo"
    assert runner.last.argv[-1] == "--own"
    assert not [arg for arg in runner.last.argv if "help" in arg or "the prompt" in arg]


@pytest.mark.parametrize("kind", AGENTS)
def test_settings_win_over_the_call_and_our_switches(kind: str, tmp_path: Path) -> None:
    """The variables of [executors.NAME] env override all others."""
    runner = MockCommandRunner()
    made = executor(kind, tmp_path, runner, env={"A": "settings", "OPENCODE_PERMISSION": "{}"})
    run(made, "spawn", AgentCall("i", "p", ID, env={"A": "call", "B": "call"}))
    captured = {name: runner.last.env[name] for name in ("A", "B", "OPENCODE_PERMISSION")}
    assert captured == {"A": "settings", "B": "call", "OPENCODE_PERMISSION": "{}"}


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_a_variable_does_not_extend_the_permissions_of_opencode(permission: str, tmp_path: Path) -> None:
    """A variable of the user does not extend the permissions of the settings."""
    runner = MockCommandRunner()
    made = executor("opencode", tmp_path, runner, permissions=permission)
    env = {"OPENCODE_PERMISSION": '{"*":"allow"}'}
    run(made, "spawn", AgentCall("i", "p", ID, env=env, allow_unsandboxed_skip=True))
    allows_all = runner.last.env["OPENCODE_PERMISSION"] == '{"*":"allow"}'
    assert allows_all == (permission == "skip")


@pytest.mark.parametrize("name", ["GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "QWEN_CODE_SYSTEM_DEFAULTS_PATH"])
@pytest.mark.parametrize("kept", [True, False])
def test_our_defaults_are_a_file_of_the_call(name: str, kept: bool, tmp_path: Path) -> None:
    """The default settings are in a file of the call; a file of the user is not replaced."""
    captured: list[str] = []

    async def look(command: Command, sink: Sink) -> Exit:
        captured.extend((command.env[name], Path(command.env[name]).read_text()))
        return Exit(0, 0.0)

    kind = name.partition("_")[0].lower()
    made = executor(kind, tmp_path, MockCommandRunner(run_function=look))
    run(made, "spawn", AgentCall("i", "p", ID, transcript=str(tmp_path / "t.jsonl") if kept else ""))
    assert json.loads(captured[1])["general"]["enableAutoUpdate"] is False
    assert Path(captured[0]).exists() == kept
    own = tmp_path / "own.json"
    own.write_text("{}")
    run(made, "spawn", AgentCall("i", "p", ID, env={name: str(own)}))
    assert captured[2:] == [str(own), "{}"]


@pytest.mark.parametrize("verb", ["spawn", "resume"])
@pytest.mark.parametrize("kept", [True, False])
def test_codex_finds_its_schema_in_a_file_of_the_call(verb: str, kept: bool, tmp_path: Path) -> None:
    """The schema is in a file beside the transcript; without a transcript it is removed after the call."""
    captured: list[tuple[str, str]] = []

    async def look(command: Command, sink: Sink) -> Exit:
        path = command.argv[command.argv.index("--output-schema") + 1]
        captured.append((path, Path(path).read_text()))
        return Exit(0, 0.0)

    (tmp_path / "work").mkdir()
    made = executor("codex", tmp_path, MockCommandRunner(run_function=look))
    transcript = str(tmp_path / "files" / "t.jsonl") if kept else ""
    (tmp_path / "files").mkdir()
    call = AgentCall(
        "i", "p", ID, schema='{"type":"object"}', cwd=str(tmp_path / "work"), transcript=transcript
    )
    run(made, verb, call)
    path, text = captured[0]
    assert text == '{"type":"object"}' and Path(path).exists() == kept
    assert not kept or Path(path).parent == tmp_path / "files"
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("kind", [kind for kind in AGENTS if kind != "codex"])
def test_agent_without_structured_output_gets_no_schema(kind: str, tmp_path: Path) -> None:
    """An agent without structured output gets no flag, and does not fail."""
    runner = MockCommandRunner()
    made = executor(kind, tmp_path, runner)
    run(made, "spawn", AgentCall("i", "p", ID, schema='{"type":"object"}'))
    assert not made.capabilities.structured_output
    assert not [arg for arg in runner.last.argv if "schema" in arg or "object" in arg]


def twice(first: Exit, lines: list[bytes]) -> MockCommandRunner:
    """Return a runner whose first run ends like this, and whose second prints these lines."""
    exits = [first]

    async def play(command: Command, sink: Sink) -> Exit:
        if exits:
            return exits.pop()
        for line in lines:
            sink(line)
        return Exit(0, 1.0)

    return MockCommandRunner(run_function=play)


def test_lost_thread_is_replaced_by_a_new_one(tmp_path: Path) -> None:
    """Codex chooses the id of the new thread, which is reported; its usage starts at zero."""
    usage = b'{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'
    printed = b'{"type":"item.completed","item":{"type":"agent_message","text":"ok"}}'
    lines = [b'{"type":"thread.started","thread_id":"new-1"}', printed, usage]
    runner = twice(Exit(1, 0.5, stderr_tail="no rollout found for thread id x"), lines)
    call = AgentCall("i", "go on", "old-1", fresh_prompt=fresh("all of it"), session_usage=Usage(500, 500))
    result, events = run(executor("codex", tmp_path, runner), "resume", call)
    assert (result.code, result.session_id, result.usage) == (None, "new-1", Usage(10, 5))
    assert result.duration_seconds == 1.5
    assert SessionReplaced("new-1", resumed=False) in events
    assert (runner.last.stdin, "old-1" in runner.last.argv) == (b"all of it", False)


def test_lost_thread_without_a_fresh_prompt_is_a_failure(tmp_path: Path) -> None:
    """The prompt relies on a history that a new session does not have."""
    runner = twice(Exit(1, 0.5, stderr_tail="no rollout found for thread id x"), [])
    result, events = run(executor("codex", tmp_path, runner), "resume", AgentCall("i", "go on", "old-1"))
    assert (result.code, len(runner.commands), events) == (Code.SESSION_NOT_FOUND, 1, [])


def test_taken_id_is_resumed(tmp_path: Path) -> None:
    """After a crash the session of gemini exists: it is resumed, and that is reported."""
    runner = twice(Exit(42, 0.5, stderr_tail='Session ID "x" already exists.'), [])
    _, events = run(executor("gemini", tmp_path, runner), "spawn", AgentCall("i", "p", ID))
    assert events[0] == SessionReplaced(ID, resumed=True)
    assert runner.last.argv[-2:] == ("--resume", ID)


@pytest.mark.parametrize("kind", ["codex", "opencode", "cursor"])
def test_agent_that_never_named_its_session_has_none(kind: str, tmp_path: Path) -> None:
    """Without a reported session id the next attempt starts a new session."""
    runner = MockCommandRunner(exit=Exit(1, 0.1))
    assert run(executor(kind, tmp_path, runner), "spawn", AgentCall("i", "p", ID))[0].session_id == ""


def tansy(runner: MockCommandRunner, *, resumes: bool) -> Executor:
    """An agent of another package, which reports failures as a text and a number."""

    def decode(line: bytes, observed: StreamState) -> bool:
        observed.fail(line.decode(), retry_after_seconds=30.0)
        return observed.finish()

    class Tansy(ProgramExecutor):
        spec = AgentSpec(
            AgentProgram("tansy", "get tansy"),
            Capabilities(resumes=resumes),
            lambda start: (),
            decode_with(OutputFormat("tansy", decode)),
        )

    return Tansy("tansy", ExecutorSettings(command="true"), runner)


def test_wait_that_is_a_number_is_taken() -> None:
    """A delay in a field is used; a failure that is not a limit has no delay."""
    for printed, expected in (
        ("rate limited", (Code.RATE_LIMITED, 30.0)),
        ("oops", (Code.AGENT_FAILED, None)),
    ):
        runner = MockCommandRunner([printed.encode()], Exit(1, 0.1))
        result, _ = run(tansy(runner, resumes=True), "spawn", AgentCall("i", "the prompt", ID))
        assert (result.code, result.retry_after_seconds) == expected


def test_agent_without_sessions_is_not_asked_for_one() -> None:
    """Resuming without the capability starts no program."""
    runner = MockCommandRunner()
    result, _ = run(tansy(runner, resumes=False), "resume", AgentCall("i", "the prompt", ID))
    assert (result.code, runner.commands) == (Code.RESUME_UNSUPPORTED, [])


@pytest.mark.parametrize("kind", AGENTS)
def test_missing_program_names_the_install_command(kind: str) -> None:
    """The error names the path that is wrong and the command that installs the program, before a start."""
    made = ExecutorRegistry().get(kind)(kind, ExecutorSettings(command="/nowhere/it"), MockCommandRunner())
    with pytest.raises(AgentUnavailable) as caught:
        made.validate_availability()
    first, _, install = caught.value.hint.partition(", or ")
    assert first == f"correct executors.{kind}.command"
    assert install.startswith(("install it with: npm install -g ", "install it with: curl "))
    assert run(made, "spawn", AgentCall("i", "p", ID))[0].code is Code.AGENT_NOT_FOUND


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_agent_program_is_found(program: Any, tmp_path: Path) -> None:
    """Each program is found by its variable, on PATH and in the paths of installers."""
    name = Path(fake_agent(tmp_path / "bin", program.name)).name
    home = str(tmp_path)
    assert program.find({"PATH": "", "HOME": home}).path is None
    assert program.find({"PATH": str(tmp_path / "bin"), "HOME": home}).path == str(tmp_path / "bin" / name)
    own = fake_agent(tmp_path / ".local" / "bin", program.name)
    assert program.find({"PATH": "", "HOME": home}).path == str(own)
    variable = f"OSTLER_{program.name.upper()}_PATH"
    assert program.find({variable: str(tmp_path / "bin" / name), "PATH": ""}).path
    assert program.name in ExecutorRegistry().list()
    assert probe_program(str(own)).version


def test_the_program_of_an_instance(tmp_path: Path) -> None:
    """Its own variable and command have precedence over those of its type, also when they are wrong."""
    (claude,) = (program for program in PROGRAMS if program.name == "claude")
    general, own = (str(fake_agent(tmp_path / name, "claude")) for name in ("general", "own"))
    environ = {"PATH": "", "HOME": str(tmp_path), "OSTLER_CLAUDE_PATH": general}
    assert claude.find(environ, instance="work").path == general
    assert claude.find(environ, own, "claude").path == general
    assert claude.find(environ, own, "work").path == own
    assert claude.find({**environ, "OSTLER_WORK_PATH": own}, "/nowhere/it", "work").path == own
    wrong = claude.find({**environ, "OSTLER_WORK_PATH": "/nowhere/it"}, instance="work")
    assert (wrong.path, wrong.searched) == (None, ("OSTLER_WORK_PATH=/nowhere/it",))
    assert claude.describe_fix(wrong).startswith("correct OSTLER_WORK_PATH, or install it with: npm install")


@pytest.mark.parametrize("verb", ["spawn", "resume"])
def test_an_id_that_is_neither_found_nor_free_is_replaced(verb: str, tmp_path: Path) -> None:
    """gemini reports both after an empty answer; the session then starts with a new id (A6)."""
    commands: list[Command] = []

    class Runner(MockCommandRunner):
        async def run(self, command: Command, on_line: Sink) -> Exit:
            commands.append(command)
            error = ""
            if ID in command.argv:
                error = (
                    "session id x already exists"
                    if "--session-id" in command.argv
                    else "Invalid session identifier"
                )
            else:
                on_line(b'{"type":"message","role":"assistant","content":"Done."}')
                on_line(b'{"type":"result","status":"success"}')
            return Exit(1 if error else 0, 0.1, stderr_tail=error)

    made = executor("gemini", tmp_path, Runner())
    result, events = run(made, verb, AgentCall("i", "p", ID, fresh_prompt=fresh("all of it")))
    assert result.code is None
    last = commands[-1].argv
    assert len(commands) == 3 and ID not in last and "--session-id" in last
    assert SessionReplaced(ID, resumed=False) in events


@pytest.mark.parametrize("kind", ["claude", "codex", "cursor", "gemini-acp", "droid"])
def test_the_runner_finds_the_program(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A14: with a runner that finds programs itself, nothing has to be installed on this machine."""
    monkeypatch.setenv("PATH", str(tmp_path))
    found, missing = MockCommandRunner(), MockCommandRunner(missing=("claude", "codex", "cursor-agent"))
    make = ExecutorRegistry().get(kind)
    asyncio.run(make(kind, ExecutorSettings(), found).spawn(AgentCall("i", "p", ID), lambda _: None))
    expected = {"cursor": "cursor-agent", "gemini-acp": "gemini"}.get(kind, kind)
    assert found.last.argv[0] == expected
    if expected in missing.missing:
        with pytest.raises(AgentUnavailable, match=f"^{expected} was not found; searched: {expected} with"):
            make(kind, ExecutorSettings(), missing).validate_availability()
