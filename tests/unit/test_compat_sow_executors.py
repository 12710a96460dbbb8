"""Seed 001 (sow): ClaudeExecutor, CursorExecutor, the registry, and the task schema."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostler.compat import (
    ClaudeExecutor,
    CursorExecutor,
    Executor,
    ExecutorError,
    ExecutorRegistry,
    Implementer,
    MockCommandRunner,
    MockExecutor,
    load_prompt,
    new_claude_executor,
    new_claude_executor_with_runner,
    new_cursor_executor,
    new_cursor_executor_with_runner,
    new_executor_registry,
)
from ostler.config.settings import ExecutorSettings, SandboxSettings, Settings
from ostler.errors import AgentUnavailable, Code, OstlerError, UsageError
from ostler.model.status import TERMINAL, TaskStatus, read_status
from ostler.testing import mocks
from ostler.testing.fake_agent import fake_agent
from workflow_world import RIGHT, WorkflowWorld

ID = "6f6b1c0e-9f8c-4a77-9d6e-0d8f4c3b2a11"
YOLO = "--dangerously-skip-permissions"
Make = Callable[[bool, Any], Executor]


def make_claude(yolo_mode: bool, runner: Any) -> Executor:
    return new_claude_executor_with_runner(yolo_mode, "", runner)


def make_cursor(yolo_mode: bool, runner: Any) -> Executor:
    return new_cursor_executor_with_runner(yolo_mode, runner)


BOTH = pytest.mark.parametrize(
    ("make", "program"), [(make_claude, "claude"), (make_cursor, "cursor-agent")], ids=["claude", "cursor"]
)


def spawn(executor: Executor, prompt: str = "Do it.", session: str = ID) -> Any:
    return asyncio.run(executor.spawn(Implementer, prompt, session))


@pytest.mark.parametrize(
    ("executor", "name"),
    [
        (new_claude_executor(False, ""), "claude-code"),
        (new_cursor_executor(False), "cursor"),
        (ClaudeExecutor(model="opus"), "claude-code"),
        (CursorExecutor(), "cursor"),
    ],
)
def test_interface_compliance(executor: Executor, name: str) -> None:
    """Both are named as in the seed and can resume sessions."""
    checked: Executor = executor
    assert (checked.name(), checked.supports_resumption()) == (name, True)


@pytest.mark.parametrize(
    ("yolo", "model", "session", "present", "absent"),
    [
        (False, "", ID, ["--session-id", ID], [YOLO, "--model", "--resume"]),
        (True, "", ID, [YOLO, "--session-id", ID], ["--model", "acceptEdits"]),
        (False, "opus", ID, ["--model", "opus", "--session-id", ID], [YOLO]),
        (True, "opus", ID, [YOLO, "--model", "opus", "--session-id", ID], []),
        (False, "", "", ["--print"], ["--session-id", "--resume", YOLO]),
    ],
)
def test_flags_of_claude(yolo: bool, model: str, session: str, present: list[str], absent: list[str]) -> None:
    """[--dangerously-skip-permissions] [--model X] [--session-id Y], in this order; no id, no flag."""
    runner = MockCommandRunner()
    spawn(new_claude_executor_with_runner(yolo, model, runner), session=session)
    assert runner.last_name == "claude"
    assert [arg for arg in runner.last_args if arg in present] == present
    assert not set(absent) & set(runner.last_args)


@pytest.mark.parametrize("model", ["", "opus"])
def test_claude_resumes(model: str) -> None:
    """--resume with the id and only the new prompt; never --session-id; the model stays."""
    runner = MockCommandRunner()
    executor = new_claude_executor_with_runner(False, model, runner)
    asyncio.run(executor.resume(ID, "Make it blue."))
    assert runner.last_args[-2:] == ["--resume", ID] and runner.last_stdin == "Make it blue."
    assert "--session-id" not in runner.last_args and ("opus" in runner.last_args) == bool(model)


@pytest.mark.parametrize("yolo", [False, True])
def test_flags_of_cursor(yolo: bool) -> None:
    """cursor-agent with --force in yolo mode; --resume ID. See docs/library/executors.md on --chat-id."""
    runner = MockCommandRunner()
    executor = new_cursor_executor_with_runner(yolo, runner)
    spawn(executor)
    assert runner.last_name == "cursor-agent" and ("--force" in runner.last_args) == yolo
    assert not {"agent", "--chat-id", "--resume", YOLO} & set(runner.last_args)
    asyncio.run(executor.resume(ID, "Make it blue."))
    assert runner.last_args[-2:] == ["--resume", ID] and runner.last_stdin == "Make it blue."


@BOTH
def test_agent_prompt_and_task_prompt(make: Make, program: str) -> None:
    """The agent's prompt, an empty line and the task's prompt on stdin, never in the arguments."""
    runner = MockCommandRunner()
    spawn(make(False, runner), "Execute task 010")
    assert runner.last_stdin == f"{load_prompt(Implementer.prompt_path)}\n\nExecute task 010"
    assert not any("Execute" in arg for arg in runner.last_args)


@BOTH
def test_a_failure_is_an_error(make: Make, program: str) -> None:
    """`claude spawn failed: ...` and `claude resume failed: ...`, caused by the error of the runner."""

    def fail(*_: object) -> None:
        raise RuntimeError("exit status 3")

    executor = make(False, MockCommandRunner(run_func=fail))
    with pytest.raises(ExecutorError, match=f"^{program} spawn failed: exit status 3$") as caught:
        spawn(executor)
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(ExecutorError, match=f"^{program} resume failed: exit status 3$"):
        asyncio.run(executor.resume(ID, "x"))


@BOTH
def test_the_context_can_be_cancelled(make: Make, program: str) -> None:
    """A timeout of the caller cancels the runner."""
    cancelled: list[str] = []

    async def hang(name: str, *_: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(name)

    async def go() -> None:
        async with asyncio.timeout(0.05):
            await make(False, MockCommandRunner(run_func=hang)).spawn(Implementer, "p", ID)

    with pytest.raises(TimeoutError):
        asyncio.run(go())
    assert cancelled == [program]


def test_resume_of_an_unknown_session() -> None:
    """A12: SESSION_NOT_FOUND, and the prompt is not sent to a new session."""
    starts: list[list[str]] = []

    def refuse(name: str, args: list[str], stdin: Any) -> None:
        starts.append(args)
        raise RuntimeError(f"No conversation found with session ID: {ID}")

    with pytest.raises(ExecutorError, match="No conversation found") as caught:
        asyncio.run(make_claude(False, MockCommandRunner(run_func=refuse)).resume(ID, "x"))
    assert caught.value.code is Code.SESSION_NOT_FOUND and caught.value.hint
    assert len(starts) == 1 and "--session-id" not in starts[0]


@BOTH
def test_bad_input_starts_nothing(make: Make, program: str) -> None:
    """One sentence with the name of the argument."""
    runner = MockCommandRunner()
    executor: Any = make(False, runner)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: executor.spawn("implementer", "p", ID), "agent: expected an Agent such as Implementer"),
        (lambda: executor.spawn(Implementer, " ", ID), "the prompt is empty"),
        (lambda: executor.spawn(Implementer, None, ID), "prompt: expected a text, got None"),
        (lambda: executor.spawn(Implementer, "p", 7), "session_id: expected a text, got 7"),
        (lambda: executor.resume(ID, ""), "the prompt is empty"),
        (lambda: executor.resume("", "p"), "resume failed: the session id is empty"),
    ]
    for call, message in calls:
        with pytest.raises(OstlerError, match=message):
            asyncio.run(call())
    assert runner.last_name == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("yes", ""), "yolo_mode: expected True or False, got 'yes'"),
        ((False, None), "model: expected a text, got None"),
    ],
)
def test_a_bad_constructor_is_refused(arguments: Any, message: str) -> None:
    """At once, not when the agent is started."""
    with pytest.raises(UsageError, match=message):
        ClaudeExecutor(*arguments)


def test_a_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """Nothing is started elsewhere."""
    runner = MockCommandRunner()
    with pytest.raises(UsageError, match="cwd: expected a directory, got"):
        spawn(ClaudeExecutor(runner=runner, cwd=tmp_path / "gone"))
    assert runner.last_name == ""


def test_a_runner_without_run_is_refused() -> None:
    """One sentence, not an AttributeError."""
    with pytest.raises(UsageError, match="runner: expected an object with a method run"):
        spawn(make_claude(False, object()))


@BOTH
def test_a_missing_program_has_an_install_hint(make: Make, program: str) -> None:
    """Before a spawn and before a resume (C2)."""
    executor: Any = make(False, mocks.MockCommandRunner(missing=(program,)))
    for call in (lambda: executor.spawn(Implementer, "p", ID), lambda: executor.resume(ID, "p")):
        with pytest.raises(AgentUnavailable, match=f"{program} was not found") as caught:
            asyncio.run(call())
        assert caught.value.hint.startswith("install it with: ")


def test_yolo_mode_needs_a_sandbox_or_a_permission() -> None:
    """A11: with a runner that may start programs, yolo mode is refused until it is allowed."""
    runner = mocks.MockCommandRunner()
    with pytest.raises(ExecutorError, match="lets the agent do anything on this machine") as caught:
        spawn(new_claude_executor_with_runner(True, "", runner))
    assert caught.value.code is Code.SANDBOX_UNAVAILABLE
    assert "allow_unsandboxed_skip=True" in caught.value.hint and runner.commands == []
    allowed = Settings(sandbox=SandboxSettings(allow_unsandboxed_skip=True))
    with pytest.raises(ExecutorError, match="claude spawn failed: claude exited"):
        spawn(ClaudeExecutor(True, runner=runner, settings=allowed))
    assert YOLO in runner.last.argv


def on_fake(kind: type[Any], wire: str, place: Path) -> Any:
    """Return an executor on a fake of the agent, as a real process."""
    program = fake_agent(place / "bin", wire, sessions=str(place / "sessions"))
    settings = Settings(
        executors={wire: ExecutorSettings(command=str(program))}, sandbox=SandboxSettings(tier="supervised")
    )
    return kind(cwd=place, settings=settings)


@pytest.mark.parametrize(("kind", "wire"), [(ClaudeExecutor, "claude"), (CursorExecutor, "cursor")])
def test_a_session_of_a_real_process(kind: type[Any], wire: str, tmp_path: Path) -> None:
    """Spawn, resume with the id of the caller, and SESSION_NOT_FOUND for a session that is gone."""
    executor, session = on_fake(kind, wire, tmp_path), str(uuid.uuid4())
    first = spawn(executor, "Remember the word heron.", session)
    assert first.ok and (first.session_id == session) == (wire == "claude")
    assert asyncio.run(executor.resume(session, "Which word?")).text == "The word was heron."
    with pytest.raises(ExecutorError) as caught:
        asyncio.run(executor.resume(str(uuid.uuid4()), "Which word?"))
    assert caught.value.code is Code.SESSION_NOT_FOUND


def test_registry() -> None:
    """Register, Get, List; several instances of one type have their own names."""
    registry = new_executor_registry()
    assert registry.list() == []
    claude, cheap = new_claude_executor(False, ""), new_claude_executor(False, "haiku")
    registry.register("claude-code", claude)
    registry.register("cheap", cheap)
    assert registry.list() == ["cheap", "claude-code"]
    assert registry.get("claude-code") is claude and registry.get("cheap") is cheap


def test_unknown_executor() -> None:
    """The exact error of the seed, with the names that exist as a hint."""
    registry = ExecutorRegistry()
    with pytest.raises(UsageError, match=r"^unknown executor: X$") as caught:
        registry.get("X")
    assert caught.value.hint == "available: none is registered"
    registry.register("mine", MockExecutor())
    with pytest.raises(UsageError, match=r"^unknown executor: X$") as caught:
        registry.get("X")
    assert caught.value.hint == "available: mine"


@pytest.mark.parametrize(
    ("name", "executor", "message"),
    [
        ("mine", MockExecutor(), "executor mine is already registered"),
        ("", MockExecutor(), "the name of an executor is empty"),
        (7, MockExecutor(), "name: expected a text, got 7"),
        ("other", None, "cannot register None as executor other"),
        ("other", ClaudeExecutor, "cannot register <class"),
    ],
)
def test_what_the_registry_refuses(name: Any, executor: Any, message: str) -> None:
    """A duplicate, an empty name, and what is no executor; the registry stays as it was."""
    registry = ExecutorRegistry()
    registry.register("mine", MockExecutor())
    with pytest.raises(UsageError, match=message):
        registry.register(name, executor)
    assert registry.list() == ["mine"]


def test_statuses_of_the_task_schema() -> None:
    """Five of the seed's six, `paused` among them, are read as they are; `abandoned` is cancelled."""
    five = ["pending", "in_progress", "needs_review", "completed", "paused"]
    assert [read_status(word) for word in five] == [TaskStatus(word) for word in five]
    assert read_status("abandoned") is TaskStatus.CANCELLED
    assert TaskStatus.PAUSED not in TERMINAL and {TaskStatus.COMPLETED, TaskStatus.CANCELLED} <= TERMINAL


def test_session_id_of_the_task_schema(tmp_path: Path) -> None:
    """Set when the worker was spawned, kept while the task is paused, cleared at its end."""
    world = WorkflowWorld(tmp_path, "[phases.plans]\nsmall = ['implement']\n")
    pause = 'sed -i "s/^status:.*/status: paused/" "$OSTLER_STATE"'
    first = {"script": pause, "text": "I have a question.", "files": {}}
    world.behave(plan=[first, {"files": {"calc.py": RIGHT}}], edits={})
    try:
        task = world.new()
        assert world.show(task)["session_id"] is None
        world.ostler("run", task, code=4)
        paused = world.show(task)
        assert (paused["status"], paused["session_id"]) == ("paused", world.started()[0]["session"])
        world.ostler("resume", task, "-m", "Make it blue.")
        world.ostler("run", task)
        assert (world.show(task)["status"], world.show(task)["session_id"]) == ("completed", None)
    finally:
        world.close()
