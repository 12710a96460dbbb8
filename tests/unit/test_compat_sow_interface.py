"""Seed 004 (sow): the executor interface, its command runner and mocks, and the document's examples."""

from __future__ import annotations

import asyncio
import inspect
import io
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ostler.compat import (
    Agent,
    Architect,
    CommandRunner,
    Decomposer,
    DefaultCommandRunner,
    Executor,
    Implementer,
    MockCommandRunner,
    MockExecutor,
    Planner,
    Researcher,
    Reviewer,
    load_prompt,
    new_claude_executor_with_runner,
)
from ostler.errors import Code, OstlerError, UsageError

# Compile-time checks of the document: `var _ Executor = (*MockExecutor)(nil)`.
EXECUTOR: Executor = MockExecutor()
RUNNERS: list[CommandRunner] = [MockCommandRunner(), DefaultCommandRunner()]


async def spawn_worker(executor: Executor, agent: Agent, task_id: str) -> object:
    """The document's spawnWorker."""
    session_id = str(uuid.uuid4())
    return await executor.spawn(agent, f"Execute task {task_id}", session_id)


async def resume_worker(executor: Executor, session_id: str, feedback: str) -> object:
    """The document's resumeWorker."""
    if not executor.supports_resumption():
        raise RuntimeError(f"executor {executor.name()} does not support resumption")
    return await executor.resume(session_id, feedback)


def test_spawn_worker() -> None:
    """TestSpawnWorker of the document."""
    captured: dict[str, Any] = {}

    def spawn(agent: Agent, prompt: str, session_id: str) -> None:
        captured.update(agent=agent, prompt=prompt, session_id=session_id)

    mock = MockExecutor(
        name_func=lambda: "test-executor", spawn_func=spawn, supports_resumption_func=lambda: True
    )
    asyncio.run(spawn_worker(mock, Implementer, "010"))
    assert (captured["agent"].name, captured["prompt"]) == ("implementer", "Execute task 010")
    assert str(uuid.UUID(captured["session_id"])) == captured["session_id"]
    assert (mock.name(), mock.supports_resumption()) == ("test-executor", True)


def test_resume_worker() -> None:
    """Feedback reaches a resumable executor; another one is an error with its name."""
    received: list[tuple[str, str]] = []

    async def resume(session_id: str, prompt: str) -> None:
        received.append((session_id, prompt))

    able = MockExecutor(resume_func=resume, supports_resumption_func=lambda: True)
    asyncio.run(resume_worker(able, "s-1", "Make it blue."))
    assert received == [("s-1", "Make it blue.")]
    with pytest.raises(RuntimeError, match="executor windsurf does not support resumption"):
        asyncio.run(resume_worker(MockExecutor(name_func=lambda: "windsurf"), "s-1", "x"))


def test_claude_executor_spawn() -> None:
    """TestClaudeExecutorSpawn of the document."""
    seen: list[str] = []

    def run(name: str, args: list[str], stdin: Any) -> None:
        seen.extend((name, stdin.read().decode()))

    runner = MockCommandRunner(run_func=run)
    executor = new_claude_executor_with_runner(False, "", runner)
    asyncio.run(executor.spawn(Implementer, "test prompt", "session-123"))
    assert seen[0] == "claude" and seen[1].endswith("\n\ntest prompt")
    assert (runner.last_name, runner.last_stdin) == ("claude", seen[1])
    assert runner.last_args[-2:] == ["--session-id", "session-123"]


def test_mock_executor_defaults() -> None:
    """Without functions: no name, success, no resumption."""
    mock = MockExecutor()
    assert (mock.name(), mock.supports_resumption()) == ("", False)
    assert asyncio.run(mock.spawn(Implementer, "p", "s")) is None
    assert asyncio.run(mock.resume("s", "p")) is None


def test_mock_functions_may_fail() -> None:
    """An exception of a function reaches the caller."""

    def fail(*_: object) -> None:
        raise ValueError("no such session")

    mock = MockExecutor(spawn_func=fail, resume_func=fail)
    for call in (lambda: mock.spawn(Implementer, "p", "s"), lambda: mock.resume("s", "p")):
        with pytest.raises(ValueError, match="no such session"):
            asyncio.run(call())


@pytest.mark.parametrize("stdin", [b"heron", "heron", io.BytesIO(b"heron"), io.StringIO("heron")])
def test_mock_command_runner_captures_the_call(stdin: Any) -> None:
    """The last name, arguments and stdin; without a function every command succeeds."""
    runner = MockCommandRunner()
    asyncio.run(runner.run("claude", ["--resume", "s-1"], stdin))
    assert (runner.last_name, runner.last_args) == ("claude", ["--resume", "s-1"])
    assert runner.last_stdin == "heron"
    asyncio.run(runner.run("true", []))
    assert (runner.last_name, runner.last_args, runner.last_stdin) == ("true", [], "")


def test_default_command_runner_shows_the_output(capfd: pytest.CaptureFixture[str]) -> None:
    """A real program with stdin; stdout and stderr are those of the terminal."""
    script = "import sys; print(sys.stdin.read()); print('warned', file=sys.stderr)"
    asyncio.run(DefaultCommandRunner().run(sys.executable, ["-c", script], io.BytesIO(b"heron")))
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("heron\n", "warned\n")


def test_input_that_cannot_be_read_is_refused() -> None:
    """The error names the argument."""
    with pytest.raises(UsageError, match=r"^stdin: expected a file, bytes, a text or None, got 3$"):
        asyncio.run(DefaultCommandRunner().run("cat", [], 3))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("name", "args", "code", "message"),
    [
        ("sh", ["-c", "exit 3"], Code.AGENT_FAILED, "sh exited with status 3"),
        ("/nowhere/agent", [], Code.AGENT_NOT_FOUND, "/nowhere/agent"),
    ],
)
def test_default_command_runner_reports_a_failure(
    name: str, args: list[str], code: Code, message: str
) -> None:
    """A non-zero exit and a program that does not exist raise."""
    with pytest.raises(OstlerError) as caught:
        asyncio.run(DefaultCommandRunner().run(name, args, None))
    assert caught.value.code is code and message in caught.value.message


def test_default_command_runner_is_cancelled(tmp_path: Path) -> None:
    """The context of the document: a timeout of the caller ends the program and what it started."""
    pid = tmp_path / "pid"

    async def go() -> None:
        async with asyncio.timeout(20):
            call = asyncio.create_task(
                DefaultCommandRunner().run("sh", ["-c", f"echo $$ > {pid}; sleep 60 & wait"])
            )
            while not (pid.exists() and pid.read_text().strip()):
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    asyncio.run(go())
    assert not Path("/proc", pid.read_text().strip()).exists()


def test_the_interface_has_four_methods() -> None:
    """Name, Spawn, Resume, SupportsResumption, and a docstring for each."""
    methods = {name for name in vars(Executor) if not name.startswith("_")}
    assert methods == {"name", "spawn", "resume", "supports_resumption"}
    assert all(inspect.getdoc(getattr(Executor, name)) for name in methods)
    assert list(inspect.signature(Executor.spawn).parameters)[1:] == ["agent", "prompt", "session_id"]
    assert list(inspect.signature(Executor.resume).parameters)[1:] == ["session_id", "prompt"]
    assert list(inspect.signature(CommandRunner.run).parameters)[1:] == ["name", "args", "stdin"]


AGENTS = (Implementer, Architect, Reviewer, Planner, Researcher, Decomposer)


def test_the_standard_agents() -> None:
    """Six, each with a name, a description, capabilities and a prompt path whose prompt can be loaded."""
    names = ["implementer", "architect", "reviewer", "planner", "researcher", "decomposer"]
    assert [agent.name for agent in AGENTS] == names
    for agent in AGENTS:
        assert agent.description and agent.capabilities and agent.prompt_path == f"{agent.name}.md"
        assert load_prompt(agent.prompt_path) == load_prompt(agent) != ""
    assert len({load_prompt(agent) for agent in AGENTS}) == 6


def test_a_project_may_have_its_own_prompt(tmp_path: Path) -> None:
    """A file in .agents/roles replaces the built-in prompt."""
    (tmp_path / ".agents/roles").mkdir(parents=True)
    (tmp_path / ".agents/roles/planner.md").write_text("Plan as we do.")
    assert load_prompt(Planner.prompt_path, tmp_path) == "Plan as we do."


@pytest.mark.parametrize("path", ["", "nobody.md", "../implementer.md", "/etc/passwd"])
def test_an_unknown_prompt_is_refused(path: str) -> None:
    """The error lists the agents that exist; no path leaves the directory."""
    with pytest.raises(UsageError, match="unknown role") as caught:
        load_prompt(path)
    assert "implementer" in caught.value.hint


def test_a_path_that_is_no_text_is_refused() -> None:
    """One sentence, not an AttributeError."""
    with pytest.raises(UsageError, match="path: expected a text, got 7"):
        load_prompt(7)  # type: ignore[arg-type]


def test_a_runner_of_ones_own_that_extends_the_default_one() -> None:
    """Its method run is called: only the default one itself is replaced."""
    names: list[str] = []

    class Logged(DefaultCommandRunner):
        async def run(self, name: str, args: Sequence[str], stdin: Any = None) -> None:
            names.append(name)

    asyncio.run(new_claude_executor_with_runner(False, "", Logged()).spawn(Implementer, "Do it.", "s-1"))
    assert names == ["claude"]
