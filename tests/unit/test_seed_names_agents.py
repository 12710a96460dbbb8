"""Names of the seeds for agents: executors, runners and roles."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import AgentUnavailable, UsageError
from ostler.executors.protocol import Capabilities
from ostler.model.call import AgentCall
from ostler.model.command import Command, Exit
from ostler.prompt.role import AGENTS
from ostler.testing.mocks import MockCommandRunner, MockExecutor
from seed_names import Check, Named, Row, find_name

CALL = AgentCall("implementer", "the prompt", "s-1", model="m-1")
ECHO = Command(("sh", "-c", "cat; echo"), "/", {"PATH": "/usr/bin:/bin"}, b"said", timeout_seconds=60.0)


def run_echo(runner: Any) -> tuple[list[bytes], int]:
    lines: list[bytes] = []
    exit = asyncio.run(runner.run(ECHO, lambda line: bool(lines.append(line))))
    return [line.strip() for line in lines if line.strip()], exit.status


def executor_protocol(executor: Named, _: Path) -> None:
    """Name, spawn and resume; the call's first fields are the seeds' agent, prompt and session id."""
    assert {"name", "capabilities", "spawn", "resume", "validate_availability"} <= set(dir(executor))
    assert AgentCall.__struct_fields__[:3] == ("agent", "prompt", "session_id")


def resumption(supports_resumption: Named, _: Path) -> None:
    """Read from the capabilities."""
    for resumes in (True, False):
        mock = MockExecutor(capabilities=Capabilities(resumes=resumes))
        assert supports_resumption(mock) is resumes


def executor_registry(registry_class: Named, _: Path) -> None:
    """register, get, list; unknown names and duplicates are errors; several instances of one type."""
    registry = registry_class()
    registry.register("mine", lambda name, settings, runner: MockExecutor(name=name))
    assert {"mine", "claude", "cursor"} <= set(registry.list())
    with pytest.raises(UsageError, match=r"^unknown executor: X$"):
        registry.get("X")
    with pytest.raises(UsageError, match="already registered"):
        registry.register("mine", lambda name, settings, runner: MockExecutor())
    instances = {name: ExecutorSettings(type="mine") for name in ("a", "b")}
    assert [registry.make(name, instances, MockCommandRunner()).name for name in instances] == ["a", "b"]


def agent_executor(flag: str, hint: str) -> Check:
    """Started by an injected runner, with the prompt on stdin; a missing program has an install hint."""

    def check(executor_class: Named, place: Path) -> None:
        program = place / "program"
        program.touch(0o755)
        runner = MockCommandRunner(exit=Exit(1, 0.1))
        executor = executor_class("a", ExecutorSettings(command=str(program)), runner)
        asyncio.run(executor.resume(CALL, lambda _: None))
        assert f"--resume {CALL.session_id}" in " ".join(runner.commands[0].argv)
        assert runner.commands[0].stdin == b"the prompt"
        skipping = ExecutorSettings(command=str(program), permissions="skip")
        allowed = replace(CALL, allow_unsandboxed_skip=True)
        asyncio.run(executor_class("a", skipping, runner).spawn(allowed, lambda _: None))
        assert flag in runner.last.argv
        with pytest.raises(AgentUnavailable) as caught:
            executor_class("a", ExecutorSettings(command="/nowhere"), runner).validate_availability()
        assert hint in caught.value.hint

    return check


def command_runner(runner: Named, _: Path) -> None:
    assert list(inspect.signature(runner.run).parameters) == ["self", "command", "sink"]
    assert Command.__struct_fields__[:4] == ("argv", "cwd", "env", "stdin")


def default_command_runner(runner_class: Named, _: Path) -> None:
    """A real program with stdin."""
    assert run_echo(runner_class()) == ([b"said"], 0)


def mock_executor(mock_class: Named, _: Path) -> None:
    """Function fields, and a default for each that is None."""
    mock = mock_class()
    mock.validate_availability()
    assert asyncio.run(mock.spawn(CALL, print)).ok and asyncio.run(mock.resume(CALL, print)).ok
    assert mock.calls == [("spawn", CALL), ("resume", CALL)]
    fields = {"spawn_function", "resume_function", "validate_function"}
    assert {getattr(mock, field) for field in fields} == {None}


def mock_command_runner(mock_class: Named, _: Path) -> None:
    """The last name, arguments and stdin."""
    mock = mock_class()
    run_echo(mock)
    name, *args = mock.last.argv
    assert (name, args, mock.last.stdin) == ("sh", ["-c", "cat; echo"], b"said")


def agent(agent_class: Named, _: Path) -> None:
    """Six roles, each with a name, a description, capabilities and a prompt path."""
    roles = {"implementer", "architect", "reviewer", "planner", "researcher", "decomposer"}
    assert set(AGENTS) == roles
    for role in AGENTS.values():
        assert isinstance(role, agent_class)
        assert role.description and role.capabilities and role.prompt_path == f"{role.name}.md"


def prompt_loader(load_prompt: Named, place: Path) -> None:
    """A prompt for each role; that of the project wins."""
    prompts = {load_prompt(role, place) for role in AGENTS.values()}
    assert len(prompts) == 6 and all(len(prompt) > 200 for prompt in prompts)
    own = place / ".agents" / "roles"
    own.mkdir(parents=True)
    (own / "planner.md").write_text("Plan as we do.")
    assert load_prompt(AGENTS["planner"], place) == "Plan as we do."


TABLE: list[Row] = [
    ("Executor", "executors.protocol", executor_protocol),
    ("supports_resumption", "executors.protocol", resumption),
    ("ExecutorRegistry", "executors.registry", executor_registry),
    ("ClaudeExecutor", "executors.claude", agent_executor("--dangerously-skip-permissions", "npm install")),
    ("CursorExecutor", "executors.cursor", agent_executor("--force", "cursor.com")),
    ("CommandRunner", "process.protocol", command_runner),
    ("DefaultCommandRunner", "process.runner", default_command_runner),
    ("MockExecutor", "testing.mocks", mock_executor),
    ("MockCommandRunner", "testing.mocks", mock_command_runner),
    ("Agent", "prompt.role", agent),
    ("load_prompt", "prompt.role", prompt_loader),
]


@pytest.mark.parametrize(("name", "home", "check"), TABLE, ids=[name for name, *_ in TABLE])
def test_name_is_there_and_behaves(name: str, home: str, check: Check, tmp_path: Path) -> None:
    """Importable from its module, with one behaviour checked."""
    check(find_name(name, home), tmp_path)
