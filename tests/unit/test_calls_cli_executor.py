"""Acceptance of seed 000: a call tries its models, whatever they answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from ostler.calls.cli_executor import CliExecutor
from ostler.calls.models.slots import WorkerPool
from ostler.calls.plugins import PluginRegistry
from ostler.calls.request import CallOutcome
from ostler.config.settings import (
    ExecutorSettings,
    HostSettings,
    RetrySettings,
    RunSettings,
    SandboxSettings,
    Settings,
)
from ostler.errors import Code
from ostler.model.command import Command, Exit, Sink, StopReason
from ostler.model.limits.limit import LEASE_SECONDS
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.mocks import MockCommandRunner
from ostler.testing.virtual_clock import VirtualClock
from recorded_programs import CLAUDE, CODEX, LOGGER, Programs, execute, executor, prompts, settings


def test_models_take_turns(tmp_path: Path) -> None:
    """Round-robin over the primary models, each with its own agent, model and prompt on stdin."""
    runner = Programs(first=[CLAUDE], second=[CODEX])
    with executor(tmp_path, runner) as made:
        outcomes = [execute(made) for _ in range(3)]
    assert runner.models == ["first", "second", "first"]
    assert [outcome.result.text for outcome in outcomes] == ["Done.", "Hello codex", "Done."]
    assert [Path(command.argv[0]).name for command in runner.commands] == ["claude", "codex", "claude"]
    assert {command.stdin for command in runner.commands} == {b"Do it."}


def test_failure_that_passes_is_tried_again(tmp_path: Path) -> None:
    """The same model is retried after the backoff, with the failure in its prompt; both attempts are
    recorded.
    """
    runner, clock = Programs(first=["claude/err_529", CLAUDE]), VirtualClock()
    with executor(tmp_path, runner, clock=clock) as made:
        outcome = execute(made)
    assert (outcome.result.code, outcome.attempt, runner.models) == (None, 2, ["first", "first"])
    assert clock.slept == [1.0]
    assert runner.last.stdin.startswith(b"Do it.\n\nAn earlier attempt at this ended before it was done:")
    assert [attempt.code for attempt in made.journal.attempts] == [Code.OVERLOADED, None]


def test_failure_that_stays_moves_on(tmp_path: Path) -> None:
    """After its retries the next model is tried."""
    runner = Programs(first=["claude/err_529"], second=[CODEX])
    with executor(tmp_path, runner) as made:
        outcome = execute(made)
    assert (outcome.result.code, runner.models) == (None, ["first", "first", "second"])


@pytest.mark.parametrize(
    ("wait", "models", "slept"), [(25.0, ["first", "first"], [25.0]), (90.0, ["first", "second"], [])]
)
def test_rate_limit_is_waited_for_or_walked_around(
    wait: float, models: list[str], slept: list[float], tmp_path: Path
) -> None:
    """A short limit is waited for; for one longer than the longest delay the next model is tried."""
    runner, clock = Programs(first=["claude/err_429_nora", CLAUDE], second=[CODEX]), VirtualClock()
    retry = RetrySettings(jitter=0.0, rate_limit_wait_seconds=wait, max_delay_seconds=60.0)
    with executor(tmp_path, runner, settings=settings(tmp_path, retry=retry), clock=clock) as made:
        assert execute(made).result.ok
    # A probe also sleeps, for half of its lease.
    assert (runner.models, [one for one in clock.slept if one != LEASE_SECONDS / 2]) == (models, slept)


def test_quota_goes_to_the_fallback_at_once(tmp_path: Path) -> None:
    """There is no wait, no retry and no other primary model."""
    runner, clock = Programs(first=[CLAUDE], second=["codex/err_429quota"], third=[CLAUDE]), VirtualClock()
    with executor(tmp_path, runner, clock=clock) as made:
        execute(made)
        assert execute(made).result.ok
    assert (runner.models, clock.slept) == (["first", "second", "third"], [])


def test_used_up_pool_is_one_message(tmp_path: Path) -> None:
    """The message names every model with its own reason."""
    runner = Programs(first=["claude/err_401"], second=["codex/err_429quota"], third=["claude/err_529"])
    with executor(tmp_path, runner) as made:
        result = execute(made).result
    assert result.code is Code.MODELS_EXHAUSTED
    assert runner.models == ["first", "second", "third", "third"]
    for name, code in (("first", "AUTH_FAILED"), ("second", "QUOTA_EXCEEDED"), ("third", "OVERLOADED")):
        assert name in result.message and code in result.message


def test_timeout_is_a_failure_like_others(tmp_path: Path) -> None:
    """A program that the runner stopped after the timeout is a TIMEOUT, and the next attempt follows."""
    stopped = Exit(-15, 2.0, StopReason.TIMEOUT)
    runner = Programs(first=[stopped, CLAUDE])
    run = RunSettings(timeout_seconds=2.0, grace_seconds=0.5)
    with executor(tmp_path, runner, settings=settings(tmp_path, run=run)) as made:
        assert execute(made).result.ok
    assert [attempt.code for attempt in made.journal.attempts] == [Code.TIMEOUT, None]
    assert (runner.last.timeout_seconds, runner.last.grace_seconds) == (2.0, 0.5)


STUBBORN = """#!/bin/sh
trap 'echo TERM >> signals' TERM
echo $$ > pid
while :; do sleep 0.05; done
"""


def test_program_that_ignores_term_is_killed(tmp_path: Path) -> None:
    """A real program gets TERM, then KILL after the grace, and nothing of it is left."""
    program = tmp_path / "stubborn"
    program.write_text(STUBBORN)
    program.chmod(0o755)
    given = Settings(
        run=RunSettings(timeout_seconds=2.0, grace_seconds=2.0),
        sandbox=SandboxSettings(tier="supervised"),
        executors={"claude": ExecutorSettings(command=str(program))},
        retry=RetrySettings(max_retries=0),
        host=HostSettings(min_free_memory_mb=0),
    )
    made = CliExecutor(given, DefaultCommandRunner(), PluginRegistry(LOGGER), LOGGER, home=tmp_path)
    outcome = asyncio.run(made.execute("Do it.", cwd=str(tmp_path)))
    made.close()
    (attempt,) = made.journal.attempts
    assert (attempt.code, attempt.exit_code) == (Code.TIMEOUT, -9)
    assert not outcome.result.ok
    assert (tmp_path / "signals").read_text() == "TERM\n"
    assert attempt.duration_ms is not None and attempt.duration_ms >= 4000
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_many_calls_at_once_share_nothing(tmp_path: Path) -> None:
    """Twenty of them: each has its own attempt, prompt file and answer."""
    runner = Programs(first=[CLAUDE], second=[CODEX])

    async def go(made: CliExecutor) -> list[CallOutcome]:
        return await asyncio.gather(*(made.execute(f"Do {n}.", cwd="/", task_id=f"t-{n}") for n in range(20)))

    with executor(tmp_path, runner) as made:
        outcomes = asyncio.run(go(made))
    assert all(outcome.result.ok for outcome in outcomes)
    assert len({outcome.answer for outcome in outcomes}) == 20
    assert {outcome.prompt for outcome in outcomes} == {f"Do {n}." for n in range(20)}
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
    assert [attempt.status for attempt in made.journal.attempts] == ["interrupted"]
    assert slots.stats()["medium"].active == 0


def test_two_of_them_know_nothing_of_each_other(tmp_path: Path) -> None:
    """Round-robin, limits, disabled models and records are separate: nothing is global."""
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
    assert [len(made.journal.attempts) for made in (first, second)] == [3, 2]
    assert first.journal.store_id != second.journal.store_id


def test_two_of_them_may_share_a_home(tmp_path: Path) -> None:
    """The limits are shared; the attempts are not."""
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
