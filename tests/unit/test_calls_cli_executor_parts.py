"""Acceptance of seed 000: a CliExecutor uses the parts that are injected."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from ostler.calls.cli_executor import CliExecutor
from ostler.calls.debugger import PrePromptEvent
from ostler.calls.hooks import CallStep
from ostler.calls.models.selector import ModelSelector
from ostler.calls.models.slots import WorkerPool
from ostler.calls.plugins import PluginRegistry
from ostler.calls.request import CallOutcome
from ostler.clock import SystemClock
from ostler.config.settings import (
    PoolSettings,
)
from ostler.errors import Code, UsageError
from ostler.model.command import Exit, StopReason
from ostler.model.task import PriorityName
from ostler.testing.virtual_clock import VirtualClock
from recorded_programs import CLAUDE, CODEX, LOGGER, Programs, execute, executor, prompts


def test_selector_is_injected(tmp_path: Path) -> None:
    """The injected strategy is used, and switching to the fallback models lasts until the reset."""
    runner = Programs(first=[CLAUDE], second=[CODEX], third=[CLAUDE])
    with executor(tmp_path, runner, selector=ModelSelector("priority", Random(0))) as made:
        execute(made)
        made.switch_to_fallback()
        execute(made)
        made.reset_fallback()
        execute(made)
    assert runner.models == ["first", "third", "first"]


class MockDebugger:
    """The interface of the seed: an event, then a request for another prompt."""

    def __init__(self, *answers: str | None) -> None:
        self.events: list[PrePromptEvent] = []
        self._answers = list(answers)

    def emit(self, event: PrePromptEvent) -> None:
        self.events.append(event)

    def get_and_clear_modified_prompt(self) -> str | None:
        return self._answers.pop(0)


def test_debugger_sees_and_changes_the_prompt(tmp_path: Path) -> None:
    """PrePromptEvent is emitted before each start; a replacement is sent and recorded."""
    runner, debugger = Programs(first=["claude/err_529", CLAUDE]), MockDebugger("Do it well.", None)
    with executor(tmp_path, runner, debugger=debugger) as made:
        outcome = execute(made, task_id="t-1")
    first = debugger.events[0]
    assert (first.type, first.task_id, first.prompt) == ("PRE_PROMPT", "t-1", "Do it.")
    assert (first.data.model, first.data.executor, first.data.model_id) == ("first", "claude", "m-first")
    assert [event.prompt for event in debugger.events] == ["Do it.", "Do it well."]
    assert [command.stdin for command in runner.commands] == [b"Do it well."] * 2
    assert outcome.prompt == "Do it well."
    assert prompts(made) == ["Do it well."] * 2


class Watching:
    """A plugin that records the steps."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def on_step(self, step: CallStep) -> None:
        self.steps.append(step.step_id)


def test_plugins_and_logger_are_those_that_were_given(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The plugin receives the five steps in order, and the logger the choice of the model and the end."""
    plugins, watching = PluginRegistry(LOGGER), Watching()
    plugins.register(watching)
    with executor(tmp_path, Programs(first=[CLAUDE]), plugins) as made, caplog.at_level("INFO", "test"):
        execute(made, task_id="t-1")
    asyncio.run(plugins.close())
    start, end = ["cli_execution_start", "model_selected", "cli_spawn_start"], ["cli_spawn_end"]
    assert watching.steps == [*start, *end, "cli_execution_end"]
    assert caplog.messages == ["t-1: selected model first (claude, m-first)", "t-1: succeeded"]


def test_each_decision_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A17: model choice, failure, wait, switch, timeout with its signals, skipped models and the end."""
    killed, ended = Exit(-9, 2.0, StopReason.TIMEOUT), Exit(-15, 2.0, StopReason.TIMEOUT)
    runner = Programs(first=["claude/err_401"], second=[killed, ended], third=["claude/err_529", CLAUDE])
    with executor(tmp_path, runner) as made, caplog.at_level("INFO", "test"):
        execute(made, task_id="t-1")
        execute(made, task_id="t-2")
    lines = [line.removeprefix("t-1: ") for line in caplog.messages if line.startswith("t-1: ")]
    assert [line.partition(":")[0] for line in lines] == [
        "selected model first (claude, m-first)",
        "attempt 1 on first failed",
        "selected model second (codex, m-second)",
        "switched from first to second after AUTH_FAILED",
        "attempt 2 on second failed",
        "waiting 1.0 s",
        "attempt 3 on second failed",
        "selected model third (claude, m-third) of the fallback models",
        "switched from second to third after TIMEOUT",
        "attempt 4 on third failed",
        "waiting 1.0 s",
        "succeeded",
    ]
    assert lines[4].startswith("attempt 2 on second failed: TIMEOUT: ")
    assert lines[4].endswith("; it was sent SIGTERM, then SIGKILL")
    assert lines[6].endswith("; it was stopped with SIGTERM")
    assert any(line.startswith("t-2: skipped model first: AUTH_FAILED") for line in caplog.messages)


def test_a_wait_for_a_slot_and_a_cancellation_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A program that embeds the executor can see why nothing happens, and what was stopped."""
    slots = WorkerPool({"mine": PoolSettings(size=1)}, SystemClock())

    async def go(made: CliExecutor) -> None:
        async with slots.acquire("mine", 1.0, "someone"):
            call = asyncio.create_task(made.execute("Do it.", cwd="/", task_id="t-1", feature="mine"))
            while not caplog.messages or "waiting" not in caplog.messages[-1]:
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    caplog.set_level("INFO", "test")
    with executor(tmp_path, Programs(first=[CLAUDE]), slots=slots, clock=SystemClock()) as made:
        asyncio.run(asyncio.wait_for(go(made), 60))
    assert caplog.messages[1:] == [
        "t-1: waiting for a slot in pool mine, held by someone",
        "t-1: cancelled; its agent was stopped",
    ]


@pytest.mark.parametrize(("priority", "nice"), [("high", 0), ("P2", 5), ("background", 15), ("P4", 15)])
def test_a_priority_is_a_level_or_a_word(priority: PriorityName, nice: int, tmp_path: Path) -> None:
    """It selects the pool, whose niceness the agent gets."""
    runner = Programs(first=[CLAUDE])
    with executor(tmp_path, runner) as made:
        outcome = asyncio.run(made.execute("Do it.", cwd="/", priority=priority))
    assert outcome.result.ok and [command.nice for command in runner.commands] == [nice]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prompt": ""}, "prompt: expected a text, got ''"),
        ({"prompt": None}, "prompt: expected a text, got None"),
        ({"cwd": "/nowhere"}, "cwd: expected a directory, got '/nowhere'"),
        ({"cwd": None}, "cwd: expected a directory, got None"),
        ({"priority": "urgent"}, "priority: expected one of P0, .*, got 'urgent'"),
        ({"timeout_seconds": 0}, "timeout_seconds: expected a number > 0, got 0"),
        ({"timeout_seconds": "x"}, "timeout_seconds: expected a number > 0, got 'x'"),
        ({"task_id": None}, "task_id: expected a text, got None"),
        ({"execution_id": 7}, "execution_id: expected a text, got 7"),
        ({"feature": 7}, "feature: expected a text, got 7"),
    ],
)
def test_an_invalid_argument_is_refused(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    """One sentence, and nothing is started."""
    runner = Programs(first=[CLAUDE])
    with executor(tmp_path, runner) as made, pytest.raises(UsageError, match=f"^{message}$"):
        asyncio.run(made.execute(**{"prompt": "Do it.", "cwd": "/", **arguments}))
    assert runner.commands == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"run": {"executor": 7}}, "settings: run.executor: expected str, got 7"),
        ({"rum": {}}, "settings: rum: unknown setting; did you mean run"),
        ({"retry": {"max_retries": -1}}, "settings: retry.max_retries: expected int >= 0, got -1"),
        (7, "settings: expected a table, got 7"),
    ],
)
def test_settings_may_be_a_mapping(settings: Any, message: str, tmp_path: Path) -> None:
    """The keys of ostler.toml; an invalid one is refused before anything is created."""
    with pytest.raises(UsageError, match=message) as caught:
        CliExecutor(settings, home=tmp_path / "home")
    assert caught.value.code is Code.CONFIG_INVALID and not (tmp_path / "home").exists()
    made = CliExecutor({"selection": {"strategy": "priority"}}, home=tmp_path, environ={"HOME": "/"})
    made.close()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"plugins": 7}, "plugins: expected a PluginRegistry, got 7"),
        ({"plugins": SimpleNamespace(notify=print)}, "plugins: expected a PluginRegistry, got namespace"),
        ({"processes": 7}, "processes: expected a CommandRunner, got 7"),
        ({"clock": 7}, "clock: expected a Clock, got 7"),
    ],
)
def test_a_part_is_what_its_argument_says(parts: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Another object is refused with its argument's name, before anything is created."""
    with pytest.raises(UsageError, match=message):
        CliExecutor(home=tmp_path / "home", **parts)
    assert not (tmp_path / "home").exists()


def test_the_home_may_be_a_text_and_a_debugger_a_plain_function(tmp_path: Path) -> None:
    """As for `cwd`; a debugger without `async` replaces the prompt, too."""
    runner = Programs(first=[CLAUDE])
    plain = SimpleNamespace(pre_prompt=lambda event: f"{event.prompt} Well.")  # pyright: ignore[reportUnknownLambdaType]
    with executor(tmp_path, runner, debugger=plain, home=str(tmp_path / "home")) as made:
        assert execute(made).result.ok
    assert prompts(made) == ["Do it. Well."] and (tmp_path / "home" / "calls").is_dir()


def test_a_missing_program_is_reported_with_its_install_command(tmp_path: Path) -> None:
    """C2: a caller without the screens of Ostler sees what to do."""
    made = CliExecutor({"executors": {"claude": {"command": "/nowhere/claude"}}}, home=tmp_path)
    result = execute(made).result
    made.close()
    assert result.code is Code.AGENT_NOT_FOUND
    advice = "correct executors.claude.command, or install it with: npm install -g @anthropic-ai/claude-code"
    assert f"({advice})" in result.message


@pytest.mark.parametrize("name", ["claude", "mine", "protocol"])
def test_the_given_variables_name_the_program(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the process would start another program than the caller chose."""
    variable = f"OSTLER_{name.upper()}_PATH"
    monkeypatch.setenv(variable, "/bin/true")
    types = {"mine": {"type": "command"}, "protocol": {"type": "acp"}}
    settings = {"run": {"executor": name}, "executors": types}
    made = CliExecutor(settings, home=tmp_path, environ={"PATH": "/bin", variable: "/nowhere/chosen"})
    result = execute(made).result
    made.close()
    assert result.code is Code.AGENT_NOT_FOUND
    assert f"searched: {variable}=/nowhere/chosen" in result.message


def test_slots_are_injected(tmp_path: Path) -> None:
    """A slot that is held elsewhere is waited for as long as a call may take: SLOT_TIMEOUT."""
    clock, runner = VirtualClock(), Programs(first=[CLAUDE], second=[CODEX])
    slots = WorkerPool({"mine": PoolSettings(size=1)}, clock)

    async def go(made: CliExecutor) -> tuple[CallOutcome, CallOutcome]:
        async with slots.acquire("mine", 1.0, "someone"):
            refused = await made.execute("Do it.", cwd="/", feature="mine")
        return refused, await made.execute("Do it.", cwd="/", feature="mine")

    with executor(tmp_path, runner, slots=slots, clock=clock) as made:
        refused, done = asyncio.run(go(made))
    assert refused.result.code is Code.SLOT_TIMEOUT and "someone" in refused.result.message
    assert done.result.ok
    assert slots.stats()["mine"].active == 0


def test_call_has_its_own_priority_and_time(tmp_path: Path) -> None:
    """The priority selects the pool, whose niceness the program gets; the timeout is for this call only."""
    runner = Programs(first=[CLAUDE], second=[CODEX])
    with executor(tmp_path, runner) as made:
        execute(made, priority="P3", timeout_seconds=7.0)
        execute(made)
    assert [(one.nice, one.timeout_seconds) for one in runner.commands] == [(10, 7.0), (5, 3600.0)]
