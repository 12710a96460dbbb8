"""Seed 000's own acceptance: settings, processes, plugins and logger are injected, and a call is carried."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest

from ostler.config.settings import (
    ExecutorSettings,
    HostSettings,
    ModelSettings,
    PoolSettings,
    RetrySettings,
    RunSettings,
    Settings,
)
from ostler.errors import Code
from ostler.model.command import Command, Exit, Sink, Stopped
from ostler.process.protocol import CommandRunner
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.mocks import MockCommandRunner
from ostler.testing.virtual_clock import VirtualClock
from ostler.worker.cli_executor import CliExecutor
from ostler.worker.debugger import PrePromptEvent
from ostler.worker.hooks import PluginRegistry, Step
from ostler.worker.order import Report
from ostler.worker.selector import ModelSelector
from ostler.worker.slots import WorkerPool

DATA = Path(__file__).parents[1] / "data"
CLAUDE, CODEX = "claude/stream_tool_yolo", "codex/exec_text"  # what the real programs printed, done well
LOGGER = logging.getLogger("test")
NAMES = {"m-first": "first", "m-second": "second", "m-third": "third"}
THREE = (
    ModelSettings("first", "claude", "m-first"),
    ModelSettings("second", "codex", "m-second"),
    ModelSettings("third", "claude", "m-third", fallback=True),
)

Turn = str | Exit
"""What one start of a program gives: a recorded run, or nothing but an exit."""


class Programs(MockCommandRunner):
    """Starts nothing: plays the recorded runs of each model, the last one for ever."""

    def __init__(self, **turns: list[Turn]) -> None:
        super().__init__(run_function=self._play)
        self._turns = turns

    @property
    def models(self) -> list[str]:
        """Which models were called, in order."""
        return [_model(command) for command in self.commands]

    async def _play(self, command: Command, sink: Sink) -> Exit:
        turns = self._turns[_model(command)]
        turn = turns.pop(0) if len(turns) > 1 else turns[0]
        if isinstance(turn, Exit):
            return turn
        for line in (DATA / f"{turn}.jsonl").read_bytes().splitlines():
            sink(line)
        return Exit(1 if "/err_" in turn else 0, 5.0)


def _model(command: Command) -> str:
    return next(NAMES[word] for word in command.argv if word in NAMES)


def settings(place: Path, **more: Any) -> Settings:
    """Three models of two agents, whose programs are there and are never started."""
    programs = {name: place / name for name in ("claude", "codex")}
    for program in programs.values():
        program.touch(0o755)
    usual: dict[str, Any] = {
        "executors": {name: ExecutorSettings(command=str(path)) for name, path in programs.items()},
        "models": THREE,
        "retry": RetrySettings(jitter=0.0, max_retries=1),
        "host": HostSettings(min_free_memory_mb=0, start_stagger_seconds=0.0),
    }
    return Settings(**{**usual, **more})


@contextmanager
def executor(
    place: Path, runner: CommandRunner, plugins: PluginRegistry | None = None, **more: Any
) -> Generator[CliExecutor]:
    """One with a home of its own, in virtual time."""
    given = more.pop("settings", None) or settings(place)
    more = {"home": place, "clock": VirtualClock(), "environ": {"HOME": str(place)}, **more}
    made = CliExecutor(given, runner, plugins or PluginRegistry(LOGGER), LOGGER, **more)
    try:
        yield made
    finally:
        made.close()


def execute(made: CliExecutor, prompt: str = "Do it.", **more: Any) -> Report:
    return asyncio.run(made.execute(prompt, cwd="/", **more))


def prompts(made: CliExecutor) -> list[str]:
    """The prompt of each attempt, as it was kept."""
    return [path.read_text() for path in sorted((made.papers / "prompts").glob("call-*.md"))]


def test_models_take_turns(tmp_path: Path) -> None:
    """Round-robin over the primary models, each with its own agent, model and prompt on stdin."""
    runner = Programs(first=[CLAUDE], second=[CODEX])
    with executor(tmp_path, runner) as made:
        reports = [execute(made) for _ in range(3)]
    assert runner.models == ["first", "second", "first"]
    assert [report.result.text for report in reports] == ["Done.", "Hello codex", "Done."]
    assert [Path(command.argv[0]).name for command in runner.commands] == ["claude", "codex", "claude"]
    assert {command.stdin for command in runner.commands} == {b"Do it."}


def test_selector_is_injected(tmp_path: Path) -> None:
    """Its strategy decides, and switching to the fallback models holds until it is reset."""
    runner = Programs(first=[CLAUDE], second=[CODEX], third=[CLAUDE])
    with executor(tmp_path, runner, selector=ModelSelector("priority", Random(0))) as made:
        execute(made)
        made.switch_to_fallback()
        execute(made)
        made.reset_fallback()
        execute(made)
    assert runner.models == ["first", "third", "first"]


def test_failure_that_passes_is_tried_again(tmp_path: Path) -> None:
    """The same model after the backoff, told how the first attempt ended; both attempts are kept."""
    runner, clock = Programs(first=["claude/err_529", CLAUDE]), VirtualClock()
    with executor(tmp_path, runner, clock=clock) as made:
        report = execute(made)
    assert (report.result.code, report.attempt, runner.models) == (None, 2, ["first", "first"])
    assert clock.slept == [1.0]
    assert runner.last.stdin.startswith(b"Do it.\n\nAn earlier attempt at this ended before it was done:")
    assert [attempt.code for attempt in made.diary.attempts] == [Code.OVERLOADED, None]


def test_failure_that_stays_moves_on(tmp_path: Path) -> None:
    """After its repeats a model is left for the next one."""
    runner = Programs(first=["claude/err_529"], second=[CODEX])
    with executor(tmp_path, runner) as made:
        report = execute(made)
    assert (report.result.code, runner.models) == (None, ["first", "first", "second"])


@pytest.mark.parametrize(
    ("wait", "models", "slept"), [(30.0, ["first", "first"], [30.0]), (90.0, ["first", "second"], [])]
)
def test_rate_limit_is_waited_for_or_walked_around(
    wait: float, models: list[str], slept: list[float], tmp_path: Path
) -> None:
    """A short one costs its time; one that is longer than the longest delay costs the model its turn."""
    runner, clock = Programs(first=["claude/err_429_nora", CLAUDE], second=[CODEX]), VirtualClock()
    retry = RetrySettings(jitter=0.0, rate_limit_wait_seconds=wait, max_delay_seconds=60.0)
    with executor(tmp_path, runner, settings=settings(tmp_path, retry=retry), clock=clock) as made:
        assert execute(made).result.ok
    assert (runner.models, clock.slept) == (models, slept)


def test_quota_goes_to_the_fallback_at_once(tmp_path: Path) -> None:
    """No wait, no repeat, no other primary model."""
    runner, clock = Programs(first=[CLAUDE], second=["codex/err_429quota"], third=[CLAUDE]), VirtualClock()
    with executor(tmp_path, runner, clock=clock) as made:
        execute(made)
        assert execute(made).result.ok
    assert (runner.models, clock.slept) == (["first", "second", "third"], [])


def test_used_up_pool_is_one_report(tmp_path: Path) -> None:
    """It names every model with its own reason."""
    runner = Programs(first=["claude/err_401"], second=["codex/err_429quota"], third=["claude/err_529"])
    with executor(tmp_path, runner) as made:
        result = execute(made).result
    assert result.code is Code.MODELS_EXHAUSTED
    assert runner.models == ["first", "second", "third", "third"]
    for name, code in (("first", "AUTH_FAILED"), ("second", "QUOTA_EXCEEDED"), ("third", "OVERLOADED")):
        assert name in result.message and code in result.message


def test_timeout_is_a_failure_like_others(tmp_path: Path) -> None:
    """The runner was told how long, and says that it stopped the program: TIMEOUT, and the next attempt."""
    stopped = Exit(-15, 2.0, Stopped.TIMEOUT)
    runner = Programs(first=[stopped, CLAUDE])
    run = RunSettings(timeout_seconds=2.0, grace_seconds=0.5)
    with executor(tmp_path, runner, settings=settings(tmp_path, run=run)) as made:
        assert execute(made).result.ok
    assert [attempt.code for attempt in made.diary.attempts] == [Code.TIMEOUT, None]
    assert (runner.last.timeout_seconds, runner.last.grace_seconds) == (2.0, 0.5)


STUBBORN = """#!/bin/sh
trap 'echo TERM >> told' TERM
echo $$ > pid
while :; do sleep 0.05; done
"""


def test_program_that_ignores_term_is_killed(tmp_path: Path) -> None:
    """A real one: TERM first, KILL after the grace, and nothing of it is left."""
    program = tmp_path / "stubborn"
    program.write_text(STUBBORN)
    program.chmod(0o755)
    given = Settings(
        run=RunSettings(timeout_seconds=2.0, grace_seconds=2.0),
        executors={"claude": ExecutorSettings(command=str(program))},
        retry=RetrySettings(max_retries=0),
        host=HostSettings(min_free_memory_mb=0),
    )
    made = CliExecutor(given, DefaultCommandRunner(), PluginRegistry(LOGGER), LOGGER, home=tmp_path)
    report = asyncio.run(made.execute("Do it.", cwd=str(tmp_path)))
    made.close()
    (attempt,) = made.diary.attempts
    assert (attempt.code, attempt.exit_code) == (Code.TIMEOUT, -9)
    assert not report.result.ok
    assert (tmp_path / "told").read_text() == "TERM\n"
    assert attempt.duration_ms is not None and attempt.duration_ms >= 4000
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


class MockDebugger:
    """As the seed has it: told of an event, then asked for another prompt."""

    def __init__(self, *answers: str | None) -> None:
        self.events: list[PrePromptEvent] = []
        self._answers = list(answers)

    def emit(self, event: PrePromptEvent) -> None:
        self.events.append(event)

    def get_and_clear_modified_prompt(self) -> str | None:
        return self._answers.pop(0)


def test_debugger_sees_and_changes_the_prompt(tmp_path: Path) -> None:
    """PrePromptEvent before each start; what it puts in its place is what is sent and what is kept."""
    runner, debugger = Programs(first=["claude/err_529", CLAUDE]), MockDebugger("Do it well.", None)
    with executor(tmp_path, runner, debugger=debugger) as made:
        report = execute(made, task_id="t-1")
    first = debugger.events[0]
    assert (first.type, first.task_id, first.prompt) == ("PRE_PROMPT", "t-1", "Do it.")
    assert (first.data.model, first.data.executor, first.data.model_id) == ("first", "claude", "m-first")
    assert [event.prompt for event in debugger.events] == ["Do it.", "Do it well."]
    assert [command.stdin for command in runner.commands] == [b"Do it well."] * 2
    assert report.prompt == "Do it well."
    assert prompts(made) == ["Do it well."] * 2


class Watching:
    """A plugin that keeps the steps."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def on_step(self, step: Step) -> None:
        self.steps.append(step.step_id)


def test_plugins_and_logger_are_those_that_were_given(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The plugin hears the five steps in order, the logger how it ended."""
    plugins, watching = PluginRegistry(LOGGER), Watching()
    plugins.register(watching)
    with executor(tmp_path, Programs(first=[CLAUDE]), plugins) as made, caplog.at_level("INFO", "test"):
        execute(made, task_id="t-1")
    asyncio.run(plugins.close())
    start, end = ["cli_execution_start", "model_selected", "cli_spawn_start"], ["cli_spawn_end"]
    assert watching.steps == [*start, *end, "cli_execution_end"]
    assert caplog.messages == ["t-1: succeeded"]


def test_slots_are_injected(tmp_path: Path) -> None:
    """Held by someone else, the one place is waited for as long as a call may take: SLOT_TIMEOUT."""
    clock, runner = VirtualClock(), Programs(first=[CLAUDE], second=[CODEX])
    slots = WorkerPool({"mine": PoolSettings(size=1)}, clock)

    async def go(made: CliExecutor) -> tuple[Report, Report]:
        async with slots.slot("mine", 1.0, "someone"):
            refused = await made.execute("Do it.", cwd="/", feature="mine")
        return refused, await made.execute("Do it.", cwd="/", feature="mine")

    with executor(tmp_path, runner, slots=slots, clock=clock) as made:
        refused, done = asyncio.run(go(made))
    assert refused.result.code is Code.SLOT_TIMEOUT and "someone" in refused.result.message
    assert done.result.ok
    assert slots.stats()["mine"].active == 0


def test_call_has_its_own_priority_and_time(tmp_path: Path) -> None:
    """The priority finds the pool, whose niceness the program gets; the time is that of this call alone."""
    runner = Programs(first=[CLAUDE], second=[CODEX])
    with executor(tmp_path, runner) as made:
        execute(made, priority="P3", timeout_seconds=7.0)
        execute(made)
    assert [(one.nice, one.timeout_seconds) for one in runner.commands] == [(10, 7.0), (5, 3600.0)]


def test_many_calls_at_once_share_nothing(tmp_path: Path) -> None:
    """Twenty of them: each has its own attempt, prompt file and answer."""
    runner = Programs(first=[CLAUDE], second=[CODEX])

    async def go(made: CliExecutor) -> list[Report]:
        return await asyncio.gather(*(made.execute(f"Do {n}.", cwd="/", task_id=f"t-{n}") for n in range(20)))

    with executor(tmp_path, runner) as made:
        reports = asyncio.run(go(made))
    assert all(report.result.ok for report in reports)
    assert len({report.answer for report in reports}) == 20
    assert {report.prompt for report in reports} == {f"Do {n}." for n in range(20)}
    assert sorted(prompts(made)) == sorted(f"Do {n}." for n in range(20))


def test_cancelling_a_call_ends_its_attempt(tmp_path: Path) -> None:
    """The runner is cancelled, the attempt is recorded as interrupted, and the slot is free."""
    begun = asyncio.Event()

    async def hang(command: Command, sink: Sink) -> Exit:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def go(made: CliExecutor) -> None:
        call = asyncio.create_task(made.execute("Do it.", cwd="/"))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    slots = WorkerPool({}, VirtualClock())
    with executor(tmp_path, MockCommandRunner(run_function=hang), slots=slots) as made:
        asyncio.run(go(made))
    assert [attempt.status for attempt in made.diary.attempts] == ["interrupted"]
    assert slots.stats()["medium"].active == 0


def test_two_of_them_know_nothing_of_each_other(tmp_path: Path) -> None:
    """Neither turns, nor limits, nor switched-off models, nor records: nothing is global."""
    places = [tmp_path / "a", tmp_path / "b"]
    for place in places:
        place.mkdir()
    one = Programs(first=["claude/err_401"], second=["codex/err_429quota"], third=[CLAUDE])
    other = Programs(first=[CLAUDE], second=[CODEX])
    with executor(places[0], one) as first, executor(places[1], other) as second:
        execute(first)
        first.switch_to_fallback()
        for _ in range(2):
            assert execute(second).result.ok
    assert one.models == ["first", "second", "third"]
    assert other.models == ["first", "second"]
    assert [len(made.diary.attempts) for made in (first, second)] == [3, 2]
    assert first.diary.store_id != second.diary.store_id


def test_two_of_them_may_share_a_home(tmp_path: Path) -> None:
    """The limits that one has met are known to the other; what was said stays with each."""
    one, other = (
        Programs(first=["claude/err_429_nora"], second=[CODEX]),
        Programs(first=[CLAUDE], second=[CODEX]),
    )
    retry, clock = RetrySettings(rate_limit_wait_seconds=90.0), VirtualClock()
    more = {"settings": settings(tmp_path, retry=retry), "clock": clock}
    with executor(tmp_path, one, **more) as first, executor(tmp_path, other, **more) as second:
        execute(first, "One.")
        execute(second, "Other.")
    assert (one.models, other.models) == (["first", "second"], ["second"])
    assert prompts(second) == ["Other."]
    assert len(prompts(first)) == 2 and "Other." not in prompts(first)
