"""What plugins are told of a call, and that nothing they do comes back to it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import msgspec
import pytest

from ostler.errors import Code, UsageError
from ostler.model.call import CallResult, RetrySeen, TextSaid, ToolDenied, ToolUsed, UsageSeen
from ostler.model.ids import TaskId
from ostler.model.usage import Usage
from ostler.worker.hooks import (
    METHODS,
    AgentResponse,
    CliResult,
    Context,
    Hook,
    PluginRegistry,
    Step,
    TaskRetry,
    ToolCall,
    hook_of_event,
    hooks_of_result,
)

T = TaskId("t-1")
STEP = Step("cli_spawn_start", T, context=Context(executor="claude", model="sonnet"))
HOOKS: tuple[Hook, ...] = (
    STEP,
    ToolCall(T, "Bash", "ls"),
    AgentResponse(T, "sonnet", "hello"),
    CliResult(T, "claude", "sonnet", 0, 1.5, "done", timed_out=False, code=None),
    TaskRetry(T, 1, Code.OVERLOADED, "busy", 2.0, "opus"),
)


class Noting:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def on_step(self, step: Step) -> None:
        self.told.append(step)

    def on_tool_call(self, call: ToolCall) -> None:
        self.told.append(call)

    def on_agent_response(self, response: AgentResponse) -> None:
        self.told.append(response)

    async def on_cli_result(self, result: CliResult) -> None:
        await asyncio.sleep(0)
        self.told.append(result)

    async def on_task_retry(self, retry: TaskRetry) -> None:
        self.told.append(retry)


def close(plugins: PluginRegistry, seconds: float = 20.0) -> None:
    asyncio.run(plugins.close(seconds))


def test_every_hook_arrives_in_order() -> None:
    """Sync and async methods alike are given the values, one after the other."""
    plugins, plugin = PluginRegistry(), Noting()
    plugins.register(plugin)
    for _ in range(50):
        for hook in HOOKS:
            plugins.tell(hook)
    close(plugins)
    assert plugin.told == [*HOOKS] * 50


def test_values_cannot_be_changed() -> None:
    """What one plugin is given, the next is given too: all of it is frozen."""
    for kind in METHODS:
        assert msgspec.structs.fields(kind)
        assert kind.__struct_config__.frozen  # pyright: ignore
    assert set(map(type, HOOKS)) == set(METHODS)
    with pytest.raises(AttributeError):
        STEP.task_id = TaskId("other")  # pyright: ignore


def test_a_plugin_is_told_only_what_it_has_a_method_for() -> None:
    """One that only wants tools starts no thread for steps."""

    class Tools:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def on_tool_call(self, call: ToolCall) -> None:
            self.seen.append(call.tool_name)

    plugins, plugin = PluginRegistry(), Tools()
    plugins.register(plugin, "tools")
    plugins.tell(STEP)
    assert not [thread for thread in threading.enumerate() if thread.name == "plugin tools"]
    plugins.tell(HOOKS[1])
    close(plugins)
    assert plugin.seen == ["Bash"]


def test_names_are_taken_once() -> None:
    """The name is given, the plugin's own, or that of its class; a second of the same is refused."""
    plugins, other = PluginRegistry(), PluginRegistry()
    plugins.register(Noting())
    with pytest.raises(UsageError, match="Noting is already registered"):
        plugins.register(Noting())
    named = Noting()
    named.name = "mine"  # pyright: ignore
    plugins.register(named)
    plugins.register(Noting(), "given")
    assert (plugins.list(), other.list()) == (["Noting", "mine", "given"], [])


@pytest.mark.parametrize("what", [object(), type("P", (), {"capabilities": 7})()])
def test_what_is_no_plugin_is_refused(what: object) -> None:
    """Something without any of the methods would never be told anything; that is a mistake."""
    with pytest.raises(UsageError, match="has none of on_step, on_tool_call"):
        PluginRegistry().register(what)


class Broken:
    def __init__(self, error: BaseException) -> None:
        self.error, self.calls = error, 0

    def on_step(self, step: Step) -> None:
        self.calls += 1
        raise self.error


@pytest.mark.parametrize("error", [ValueError("oops"), SystemExit(3), KeyboardInterrupt()])
def test_a_plugin_that_fails_three_times_is_switched_off(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """The others hear everything; each failure is logged, and one warning says who was switched off."""
    caplog.set_level(logging.INFO)
    plugins, broken, well = PluginRegistry(), Broken(error), Noting()
    plugins.register(broken)
    plugins.register(well)
    for _ in range(10):
        plugins.tell(STEP)
    close(plugins)
    assert (broken.calls, len(well.told), plugins.disabled) == (3, 10, ["Broken"])
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.INFO] * 3 + [logging.WARNING]
    assert "plugin Broken is switched off for this run: it failed 3 times, last at Step: " in caplog.text


def test_two_failures_are_forgiven() -> None:
    """A plugin that failed twice goes on."""

    class Sometimes(Noting):
        def on_step(self, step: Step) -> None:
            super().on_step(step)
            if len(self.told) < 3:
                raise OSError("no network")

    plugins, plugin = PluginRegistry(), Sometimes()
    plugins.register(plugin)
    for _ in range(6):
        plugins.tell(STEP)
    close(plugins)
    assert (len(plugin.told), plugins.disabled) == (6, [])


class Slow:
    """Blocks, whether it says that it is async or not, until it is let go."""

    def __init__(self) -> None:
        self.let_go, self.entered = threading.Event(), threading.Event()

    async def on_step(self, step: Step) -> None:
        self.entered.set()
        self.let_go.wait(60)


def test_a_plugin_that_hangs_delays_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """The run goes on at once; after three limits without an answer the plugin is switched off."""
    plugins, slow = PluginRegistry(limit_seconds=0.05), Slow()
    plugins.register(slow)
    begun = time.monotonic()
    plugins.tell(STEP)
    assert slow.entered.wait(20)
    while not plugins.disabled and time.monotonic() - begun < 20:
        plugins.tell(STEP)
        time.sleep(0.01)
    assert plugins.disabled == ["Slow"]
    assert "it does not keep up" in caplog.text
    begun = time.monotonic()
    close(plugins, 20)
    assert time.monotonic() - begun < 10, "a plugin that is switched off is not waited for"
    slow.let_go.set()


def test_the_end_of_a_run_waits_for_a_slow_plugin_only_so_long() -> None:
    """One that still has something to hear is waited for, within the limit for all of them together."""
    plugins, one, two = PluginRegistry(), Slow(), Slow()
    plugins.register(one, "one")
    plugins.register(two, "two")
    plugins.tell(STEP)
    begun = time.monotonic()
    close(plugins, 0.2)
    assert 0.2 <= time.monotonic() - begun < 5
    one.let_go.set()
    two.let_go.set()


def test_an_async_method_is_given_up_after_the_limit(caplog: pytest.LogCaptureFixture) -> None:
    """It is cancelled and counted, and what comes next is heard."""
    caplog.set_level(logging.INFO)

    class Sleeping(Noting):
        async def on_cli_result(self, result: CliResult) -> None:
            await asyncio.sleep(600)

    plugins, plugin = PluginRegistry(limit_seconds=0.05), Sleeping()
    plugins.register(plugin)
    plugins.tell(HOOKS[3])
    plugins.tell(HOOKS[4])
    close(plugins)
    assert plugin.told == [HOOKS[4]]
    assert "plugin Sleeping failed at CliResult: TimeoutError" in caplog.text


def test_a_flood_that_a_plugin_cannot_take_switches_it_off(caplog: pytest.LogCaptureFixture) -> None:
    """What waits for a plugin is bounded."""
    plugins, slow = PluginRegistry(limit_seconds=60), Slow()
    plugins.register(slow)
    for _ in range(10_002):
        plugins.tell(STEP)
    assert plugins.disabled == ["Slow"]
    slow.let_go.set()


def test_capabilities_stand_at_the_end_of_the_prompt() -> None:
    """Each text of a plugin that is not switched off, below one heading; without any, nothing is added."""
    plugins = PluginRegistry()
    plugins.register(Noting())
    assert plugins.with_capabilities("Do it.\n") == "Do it.\n"
    plugins.register(type("A", (), {"capabilities": "You can `notify`.\n"})(), "a")
    plugins.register(type("B", (), {"capabilities": "  Ask the map."})(), "b")
    broken = Broken(ValueError())
    broken.capabilities = "Gone."  # pyright: ignore
    plugins.register(broken)
    for _ in range(3):
        plugins.tell(STEP)
    close(plugins)
    told = "Do it.\n\n# Plugin Capabilities\n\nYou can `notify`.\n\nAsk the map.\n"
    assert plugins.with_capabilities("Do it.\n") == told


@pytest.mark.parametrize(
    ("event", "hook"),
    [
        (TextSaid("hello"), AgentResponse(T, "sonnet", "hello", is_partial=True)),
        (ToolUsed("Bash", "ls"), ToolCall(T, "Bash", "ls")),
        (ToolDenied("Bash", "rm"), ToolCall(T, "Bash", "rm", denied=True)),
        (RetrySeen(Code.OVERLOADED, 1.0), None),
        (UsageSeen(Usage()), None),
    ],
)
def test_what_the_agent_says_becomes_a_hook(event: object, hook: object) -> None:
    """Messages and tools are for plugins; what only we need is not."""
    assert hook_of_event(event, T, "sonnet") == hook  # pyright: ignore


def test_the_end_of_an_attempt_becomes_two_hooks() -> None:
    """The final text whole, and how it ended with the end of that text."""
    result = CallResult(Code.IDLE_TIMEOUT, text="x" * 5000, exit_code=-15, duration_seconds=3.0)
    final, ended = hooks_of_result(result, T, "claude", "sonnet")
    assert final == AgentResponse(T, "sonnet", "x" * 5000, is_partial=False)
    expected = CliResult(T, "claude", "sonnet", -15, 3.0, "x" * 2000, timed_out=True, code=Code.IDLE_TIMEOUT)
    assert ended == expected
