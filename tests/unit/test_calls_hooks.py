"""The events that plugins receive, and that plugins cannot change a call."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import msgspec
import pytest

from ostler.calls.hooks import (
    METHODS,
    AgentResponse,
    CallStep,
    CliResult,
    Hook,
    StepContext,
    TaskRetry,
    ToolCall,
    create_event_hook,
    create_result_hooks,
)
from ostler.calls.plugins import PluginRegistry
from ostler.errors import Code, UsageError
from ostler.model.call import CallResult, RetryReported, TextReceived, ToolDenied, ToolUsed, UsageReported
from ostler.model.ids import TaskId
from ostler.model.usage import Usage

T = TaskId("t-1")
STEP = CallStep("cli_spawn_start", T, context=StepContext(executor="claude", model="sonnet"))
HOOKS: tuple[Hook, ...] = (
    STEP,
    ToolCall(T, "Bash", "ls"),
    AgentResponse(T, "sonnet", "hello"),
    CliResult(T, "claude", "sonnet", 0, 1.5, "done", timed_out=False, code=None),
    TaskRetry(T, 1, Code.OVERLOADED, "busy", 2.0, "opus"),
)


class Noting:
    """Records what it receives."""

    def __init__(self) -> None:
        self.received: list[object] = []

    def on_step(self, step: CallStep) -> None:
        self.received.append(step)

    def on_tool_call(self, call: ToolCall) -> None:
        self.received.append(call)

    def on_agent_response(self, response: AgentResponse) -> None:
        self.received.append(response)

    async def on_cli_result(self, result: CliResult) -> None:
        await asyncio.sleep(0)
        self.received.append(result)

    async def on_task_retry(self, retry: TaskRetry) -> None:
        self.received.append(retry)


def close(plugins: PluginRegistry, seconds: float = 20.0) -> None:
    asyncio.run(plugins.close(seconds))


def test_every_hook_arrives_in_order() -> None:
    """Sync and async methods receive the values one after the other."""
    plugins, plugin = PluginRegistry(), Noting()
    plugins.register(plugin)
    for _ in range(50):
        for hook in HOOKS:
            plugins.notify(hook)
    close(plugins)
    assert plugin.received == [*HOOKS] * 50


def test_values_cannot_be_changed() -> None:
    """All plugins receive the same frozen values."""
    for kind in METHODS:
        assert msgspec.structs.fields(kind)
        assert kind.__struct_config__.frozen  # pyright: ignore
    assert set(map(type, HOOKS)) == set(METHODS)
    with pytest.raises(AttributeError):
        STEP.task_id = TaskId("other")  # pyright: ignore


def test_a_plugin_receives_only_what_it_has_a_method_for() -> None:
    """A plugin that only has on_tool_call starts no thread for steps."""

    class Tools:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def on_tool_call(self, call: ToolCall) -> None:
            self.seen.append(call.tool_name)

    plugins, plugin = PluginRegistry(), Tools()
    plugins.register(plugin, "tools")
    plugins.notify(STEP)
    assert not [thread for thread in threading.enumerate() if thread.name == "plugin tools"]
    plugins.notify(HOOKS[1])
    close(plugins)
    assert plugin.seen == ["Bash"]


def test_names_are_taken_once() -> None:
    """The name is the given one, the plugin's own, or that of its class; a duplicate is an error."""
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
    """An object without any of the methods is an error."""
    with pytest.raises(UsageError, match="has none of on_step, on_tool_call"):
        PluginRegistry().register(what)


class Broken:
    def __init__(self, error: BaseException) -> None:
        self.error, self.calls = error, 0

    def on_step(self, step: CallStep) -> None:
        self.calls += 1
        raise self.error


@pytest.mark.parametrize("error", [ValueError("oops"), SystemExit(3), KeyboardInterrupt()])
def test_a_plugin_that_fails_three_times_is_switched_off(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """The other plugins receive everything; each failure is a warning, the last one names the consequence."""
    plugins, broken, well = PluginRegistry(), Broken(error), Noting()
    plugins.register(broken)
    plugins.register(well)
    for _ in range(10):
        plugins.notify(STEP)
    close(plugins)
    assert (broken.calls, len(well.received), plugins.disabled) == (3, 10, ["Broken"])
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 3
    assert caplog.text.count("plugin Broken failed at CallStep: ") == 2
    assert "plugin Broken is disabled for this run: it failed 3 times, last at CallStep: " in caplog.text


def test_two_failures_are_forgiven() -> None:
    """A plugin that failed twice is not disabled."""

    class Sometimes(Noting):
        def on_step(self, step: CallStep) -> None:
            super().on_step(step)
            if len(self.received) < 3:
                raise OSError("no network")

    plugins, plugin = PluginRegistry(), Sometimes()
    plugins.register(plugin)
    for _ in range(6):
        plugins.notify(STEP)
    close(plugins)
    assert (len(plugin.received), plugins.disabled) == (6, [])


class Slow:
    """Blocks until it is released, with a sync or an async method."""

    def __init__(self) -> None:
        self.let_go, self.entered = threading.Event(), threading.Event()

    async def on_step(self, step: CallStep) -> None:
        self.entered.set()
        self.let_go.wait(60)


def test_a_plugin_that_hangs_delays_no_call(caplog: pytest.LogCaptureFixture) -> None:
    """The run continues at once; after three timeouts the plugin is disabled."""
    plugins, slow = PluginRegistry(timeout_seconds=0.05), Slow()
    plugins.register(slow)
    begun = time.monotonic()
    plugins.notify(STEP)
    assert slow.entered.wait(20)
    while not plugins.disabled and time.monotonic() - begun < 20:
        plugins.notify(STEP)
        time.sleep(0.01)
    assert plugins.disabled == ["Slow"]
    assert "it is too slow" in caplog.text
    begun = time.monotonic()
    close(plugins, 20)
    assert time.monotonic() - begun < 10, "a plugin that is switched off is not waited for"
    slow.let_go.set()


def test_the_end_of_a_run_waits_for_a_slow_plugin_only_so_long() -> None:
    """Queued events are waited for, within the limit for all plugins together."""
    plugins, one, two = PluginRegistry(), Slow(), Slow()
    plugins.register(one, "one")
    plugins.register(two, "two")
    plugins.notify(STEP)
    begun = time.monotonic()
    close(plugins, 0.2)
    assert 0.2 <= time.monotonic() - begun < 5
    one.let_go.set()
    two.let_go.set()


def test_an_async_method_is_given_up_after_the_limit(caplog: pytest.LogCaptureFixture) -> None:
    """The call is cancelled and counted, and the next event is handled."""

    class Sleeping(Noting):
        async def on_cli_result(self, result: CliResult) -> None:
            await asyncio.sleep(600)

    plugins, plugin = PluginRegistry(timeout_seconds=0.05), Sleeping()
    plugins.register(plugin)
    plugins.notify(HOOKS[3])
    plugins.notify(HOOKS[4])
    close(plugins)
    assert plugin.received == [HOOKS[4]]
    assert "plugin Sleeping failed at CliResult: TimeoutError" in caplog.text


def test_a_flood_that_a_plugin_cannot_take_switches_it_off(caplog: pytest.LogCaptureFixture) -> None:
    """The queue of a plugin is bounded."""
    plugins, slow = PluginRegistry(timeout_seconds=60), Slow()
    plugins.register(slow)
    for _ in range(10_002):
        plugins.notify(STEP)
    assert plugins.disabled == ["Slow"]
    slow.let_go.set()


def test_capabilities_are_at_the_end_of_the_prompt() -> None:
    """The texts of all plugins that are not disabled follow one heading; without any, nothing is added."""
    plugins = PluginRegistry()
    plugins.register(Noting())
    assert plugins.with_capabilities("Do it.\n") == "Do it.\n"
    plugins.register(type("A", (), {"capabilities": "You can `notify`.\n"})(), "a")
    plugins.register(type("B", (), {"capabilities": "  Ask the map."})(), "b")
    broken = Broken(ValueError())
    broken.capabilities = "Gone."  # pyright: ignore
    plugins.register(broken)
    for _ in range(3):
        plugins.notify(STEP)
    close(plugins)
    expected = "Do it.\n\n# Plugin Capabilities\n\nYou can `notify`.\n\nAsk the map.\n"
    assert plugins.with_capabilities("Do it.\n") == expected


@pytest.mark.parametrize(
    ("event", "hook"),
    [
        (TextReceived("hello"), AgentResponse(T, "sonnet", "hello", is_partial=True)),
        (ToolUsed("Bash", "ls"), ToolCall(T, "Bash", "ls")),
        (ToolDenied("Bash", "rm"), ToolCall(T, "Bash", "rm", denied=True)),
        (RetryReported(Code.OVERLOADED, 1.0), None),
        (UsageReported(Usage()), None),
    ],
)
def test_agent_events_become_hooks(event: object, hook: object) -> None:
    """Plugins receive messages and tools, no internal events."""
    assert create_event_hook(event, T, "sonnet") == hook  # pyright: ignore


def test_the_end_of_an_attempt_becomes_two_hooks() -> None:
    """The final text is complete; the result has its end."""
    result = CallResult(Code.IDLE_TIMEOUT, text="x" * 5000, exit_code=-15, duration_seconds=3.0)
    final, ended = create_result_hooks(result, T, "claude", "sonnet")
    assert final == AgentResponse(T, "sonnet", "x" * 5000, is_partial=False)
    expected = CliResult(T, "claude", "sonnet", -15, 3.0, "x" * 2000, timed_out=True, code=Code.IDLE_TIMEOUT)
    assert ended == expected
