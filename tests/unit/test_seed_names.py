"""The names that the seeds gave: each is where one would look for it, and does what it did there."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

import ostler
from ostler.config.settings import ExecutorSettings, PoolSettings
from ostler.errors import AgentUnavailable, Code, UsageError
from ostler.executors.protocol import Capabilities
from ostler.llm.failure import ModelError
from ostler.model.call import AgentCall
from ostler.model.choice import Choice, ModelPool
from ostler.model.command import Command, Exit
from ostler.model.event import AgentQuiet
from ostler.model.ids import TaskId
from ostler.process.runner import DefaultCommandRunner
from ostler.process.terminal import terminal_works
from ostler.prompt.role import AGENTS
from ostler.store.memory import MemoryJournal
from ostler.testing.mocks import MockClaudeClient, MockCommandRunner, MockExecutor
from ostler.testing.virtual_clock import VirtualClock
from ostler.worker.debugger import PromptData

CALL = AgentCall("implementer", "the prompt", "s-1", model="m-1")
ECHO = Command(("sh", "-c", "cat; echo"), "/", {"PATH": "/usr/bin:/bin"}, b"said", timeout_seconds=60.0)
Named = Any
Check = Callable[[Named, Path], object]


def run_echo(runner: Any) -> tuple[list[bytes], int]:
    lines: list[bytes] = []
    exit = asyncio.run(runner.run(ECHO, lambda line: bool(lines.append(line))))
    return [line.strip() for line in lines if line.strip()], exit.status


def executor_protocol(executor: Named, _: Path) -> None:
    """Name, spawn and resume; the call's first fields are the seeds' agent, prompt and session id."""
    assert {"name", "capabilities", "spawn", "resume", "validate_availability"} <= set(dir(executor))
    assert AgentCall.__struct_fields__[:3] == ("agent", "prompt", "session_id")


def resumption(supports_resumption: Named, _: Path) -> None:
    """Read from what the executor says that it can do."""
    for resumes in (True, False):
        mock = MockExecutor(capabilities=Capabilities(resumes=resumes))
        assert supports_resumption(mock) is resumes


def executor_registry(registry_class: Named, _: Path) -> None:
    """register, get, list; unknown ones named, duplicates refused, several instances of one type."""
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
    """Started by an injected runner, with the prompt on stdin; without its program it says how to get it."""

    def check(executor_class: Named, place: Path) -> None:
        program = place / "program"
        program.touch(0o755)
        runner = MockCommandRunner(exit=Exit(1, 0.1))
        executor = executor_class("a", ExecutorSettings(command=str(program)), runner)
        asyncio.run(executor.resume(CALL, lambda _: None))
        assert f"--resume {CALL.session_id}" in " ".join(runner.commands[0].argv)
        assert runner.commands[0].stdin == b"the prompt"
        skipping = ExecutorSettings(command=str(program), permissions="skip")
        asyncio.run(executor_class("a", skipping, runner).spawn(CALL, lambda _: None))
        assert flag in runner.last.argv
        with pytest.raises(AgentUnavailable) as caught:
            executor_class("a", ExecutorSettings(command="/nowhere"), runner).validate_availability()
        assert hint in caught.value.hint

    return check


def command_runner(runner: Named, _: Path) -> None:
    assert list(inspect.signature(runner.run).parameters) == ["self", "command", "sink"]
    assert Command.__struct_fields__[:4] == ("argv", "cwd", "env", "stdin")


def default_command_runner(runner_class: Named, _: Path) -> None:
    """A real program, fed its stdin."""
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
    """A prompt for each role; the project's own words win."""
    prompts = {load_prompt(role, place) for role in AGENTS.values()}
    assert len(prompts) == 6 and all(len(prompt) > 200 for prompt in prompts)
    own = place / ".agents" / "roles"
    own.mkdir(parents=True)
    (own / "planner.md").write_text("Plan as we do.")
    assert load_prompt(AGENTS["planner"], place) == "Plan as we do."


def cli_executor(executor_class: Named, _: Path) -> None:
    """What seed 000 injects, in its order; the rest may be. See test_worker_cli_executor.py."""
    given = inspect.signature(executor_class).parameters
    assert list(given)[:4] == ["settings", "processes", "plugins", "logger"]
    assert {"selector", "slots", "clock", "debugger"} <= set(given)


def model_selector(selector_class: Named, _: Path) -> None:
    """Takes turns, and begins with the fallback models when told to."""
    selector = selector_class("round-robin", Random(0))
    pool = ModelPool((Choice("a", "x"), Choice("b", "x"), Choice("c", "x", fallback=True)))
    assert [selector.get_next(pool).name for _ in range(3)] == ["a", "b", "a"]
    selector.switch_to_fallback()
    assert selector.get_next(pool).name == "c"
    assert selector.get_total_model_count(pool) == 3


def worker_pool(pool_class: Named, _: Path) -> None:
    """Pool by feature, then priority, then medium; places that are counted and given back."""
    pool = pool_class({"docs": PoolSettings(size=1)}, VirtualClock())
    asked = [("docs", "P0"), ("", "P0"), ("other", "P3"), ("", "")]
    assert [pool.pool_name(*one) for one in asked] == ["docs", "high", "low", "medium"]

    async def hold() -> int:
        async with pool.slot("docs", 1.0):
            return pool.stats()["docs"].active

    assert (asyncio.run(hold()), pool.stats()["docs"].active) == (1, 0)


def spawner_factory(create_spawner: Named, _: Path) -> None:
    """Pipes, or a terminal where one works."""
    assert type(create_spawner(prefer_pty=False)).__name__ == "StandardSpawner"
    expected = "PtySpawner" if terminal_works() else "StandardSpawner"
    assert type(create_spawner(prefer_pty=True)).__name__ == expected


def spawner(spawner_class: Named, _: Path) -> None:
    """Starts a real program."""
    lines, status = run_echo(DefaultCommandRunner(spawner_class()))
    assert (lines[-1].strip(), status) == (b"said", 0)


def backoff(calculate_backoff_delay: Named, _: Path) -> None:
    """Doubles, up to a maximum, and never overflows."""
    assert [calculate_backoff_delay(n) for n in range(7)] == [1, 2, 4, 8, 16, 32, 60]
    assert calculate_backoff_delay(10**6, 0.5, 30.0) == 30.0


def available_memory(get_available_memory_mb: Named, _: Path) -> None:
    found = get_available_memory_mb()
    assert found is None or 0 < found < 2**30


def pre_prompt_event(event_class: Named, _: Path) -> None:
    event = event_class(TaskId("t"), 1.0, "Do it.", PromptData("sonnet", "claude", "m-1"))
    assert (event.type, event.task_id, event.prompt) == ("PRE_PROMPT", "t", "Do it.")
    assert (event.data.model, event.data.executor, event.data.model_id) == ("sonnet", "claude", "m-1")


def claude_client(client: Named, _: Path) -> None:
    assert inspect.iscoroutinefunction(client.complete)
    assert list(inspect.signature(client.complete).parameters) == ["self", "request"]


def client_config(config_class: Named, _: Path) -> None:
    """The key is never printed."""
    config = config_class("sk-secret")
    assert config.default_max_tokens == 4096
    assert "secret" not in repr(config) and config.base_url == ""


def request(request_class: Named, _: Path) -> None:
    names = ("system_prompt", "user_message", "model", "max_tokens", "abort")
    assert request_class.__struct_fields__[:5] == names
    assert [message.text for message in request_class("s", "u", "m").messages] == ["u"]


def response(response_class: Named, _: Path) -> None:
    names = ("content", "input_tokens", "output_tokens", "stop_reason")
    assert response_class.__struct_fields__[:4] == names
    assert response_class("c", 1, 2, "end_turn").usage.total == 3


def anthropic_client(client_class: Named, _: Path) -> None:
    """Without a key it is not made, and says which one it wants; the exchange: test_llm_hostile.py."""
    config = import_module("ostler.llm.client").ClaudeClientConfig
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY") as caught:
        client_class(config(""))
    assert caught.value.code is Code.AUTH_FAILED
    assert inspect.iscoroutinefunction(client_class(config("sk-1")).complete)


def mock_client(client_class: Named, _: Path) -> None:
    """Calls, generator, one-shot error, delay and abort."""
    client_module = import_module("ostler.llm.client")
    abort = asyncio.Event()
    abort.set()
    asked = client_module.ClaudeRequest("s", "u", "m", abort=abort)
    plain = client_module.ClaudeRequest("s", "u", "m")
    mock: MockClaudeClient = client_class()
    assert asyncio.run(mock.complete(plain)).usage.total == 300
    mock.set_error(ModelError(Code.OVERLOADED, "busy"))
    with pytest.raises(ModelError, match="busy"):
        asyncio.run(mock.complete(plain))
    mock.generator = lambda request: client_module.ClaudeResponse(request.model, 1, 1, "end_turn")
    assert asyncio.run(mock.complete(plain)).content == "m"
    mock.set_delay(60.0)
    with pytest.raises(ModelError) as caught:
        asyncio.run(mock.complete(asked))
    assert (caught.value.code, len(mock.calls)) == (Code.ABORTED, 3)


def sleep(cancellable_sleep: Named, _: Path) -> None:
    """An abort ends it at once."""

    async def go() -> None:
        await cancellable_sleep(0.0)
        abort = asyncio.Event()
        asyncio.get_running_loop().call_soon(abort.set)
        await cancellable_sleep(3600.0, abort)

    with pytest.raises(ModelError) as caught:
        asyncio.run(asyncio.wait_for(go(), 60))
    assert caught.value.code is Code.ABORTED


def publisher(event_publisher: Named, _: Path) -> None:
    """The journal is one: what it is told stands in the feed, in order, for all who look on."""
    journal = MemoryJournal()
    assert event_publisher in import_module("ostler.store.journal").Journal.__mro__
    journal.notify(TaskId("t"), 1.0, [AgentQuiet(1, 5)])
    journal.notify(TaskId("t"), 2.0, [AgentQuiet(1, 9)])
    assert [(line.task, line.at) for line in journal.feed()] == [("t", 1.0), ("t", 2.0)]


TABLE: list[tuple[str, str, Check]] = [
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
    ("CliExecutor", "worker.cli_executor", cli_executor),
    ("ModelSelector", "worker.selector", model_selector),
    ("WorkerPool", "worker.slots", worker_pool),
    ("WorkerPoolManager", "worker.slots", worker_pool),
    ("create_spawner", "process.spawner", spawner_factory),
    ("StandardSpawner", "process.spawner", spawner),
    ("PtySpawner", "process.terminal", spawner),
    ("calculate_backoff_delay", "worker.retry", backoff),
    ("get_available_memory_mb", "worker.host", available_memory),
    ("PrePromptEvent", "worker.debugger", pre_prompt_event),
    ("ClaudeClient", "llm.client", claude_client),
    ("ClaudeClientConfig", "llm.client", client_config),
    ("ClaudeRequest", "llm.client", request),
    ("ClaudeResponse", "llm.client", response),
    ("AnthropicClaudeClient", "llm.anthropic", anthropic_client),
    ("MockClaudeClient", "testing.mocks", mock_client),
    ("cancellable_sleep", "llm.patience", sleep),
    ("EventPublisher", "store.journal", publisher),
]
PUBLIC = {"CliExecutor", "Executor", "ExecutorRegistry", "ModelSelector", "WorkerPool", "create_spawner"}


@pytest.mark.parametrize(("name", "home", "check"), TABLE, ids=[name for name, *_ in TABLE])
def test_name_is_there_and_behaves(name: str, home: str, check: Check, tmp_path: Path) -> None:
    """Importable from its home, and one thing that it does."""
    check(getattr(import_module(f"ostler.{home}"), name), tmp_path)


@pytest.mark.parametrize("name", ostler.__all__)
def test_public_name_is_loaded_on_first_use(name: str) -> None:
    """`from ostler import ...` gives the same object as its home does."""
    homes = {name: home for name, home, _ in TABLE}
    found = getattr(ostler, name)
    if name in homes:
        assert found is getattr(import_module(f"ostler.{homes[name]}"), name)


def test_what_seed_000_exports_is_public() -> None:
    """CliExecutor, ModelSelector, the worker pool and create_spawner, beside what an executor needs."""
    assert set(ostler.__all__) >= PUBLIC
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        ostler.Nothing  # noqa: B018
