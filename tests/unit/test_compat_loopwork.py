"""Seed 000 (loopwork): the executor package, with its acceptance criteria, edge cases and test strategy."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

import ostler
from loopwork_executor import CLAUDE, FALLBACK, LIMITED, MODELS, OVERLOADED, REFUSED, execute, injected
from ostler.calls.hooks import CallStep
from ostler.compat import (
    CliExecutor,
    CliExecutorConfig,
    ModelEntry,
    ModelSelector,
    PtySpawner,
    RetryConfig,
    StandardSpawner,
    WorkerPoolManager,
    calculate_backoff_delay,
    create_spawner,
    get_available_memory_mb,
)
from ostler.errors import Code, OstlerError, UsageError, read_code
from ostler.model.command import Command
from ostler.model.limits.limit import LEASE_SECONDS
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner
from ostler.process.terminal import is_terminal_usable
from ostler.testing.virtual_clock import VirtualClock
from process_manager import MockProcessManager, RealManager, Recorded


def test_the_four_exports_are_public() -> None:
    """`Export { CliExecutor, ModelSelector, WorkerPoolManager, createSpawner }`, from ostler too."""
    assert ostler.ModelSelector is ModelSelector and ostler.create_spawner is create_spawner
    assert ostler.WorkerPoolManager is WorkerPoolManager
    assert issubclass(CliExecutor, ostler.CliExecutor)


def test_a_task_runs_with_a_mocked_process_manager(tmp_path: Path) -> None:
    """Acceptance: the prompt is on stdin, no program has to be installed, and the answer is returned."""
    manager = MockProcessManager(CLAUDE)
    with injected(manager, tmp_path) as made:
        task = Task("Do it.", "Well.", id="t-1", priority="P3")  # pyright: ignore[reportArgumentType]
        outcome = asyncio.run(made.execute_task(task, cwd="/"))
    (command, args, options) = manager.spawned[0]
    assert outcome.result.ok and outcome.result.text == "Done."
    assert command == "claude" and {"--print", "--model"} <= set(args)
    assert options.input.startswith(b"Do it.\n\nWell.\n\n# Plugin Capabilities\n\nYou may search.")
    assert (options.cwd, options.nice) == ("/", 10)
    assert "--dangerously-skip-permissions" not in args


def test_plugins_and_logger_are_the_injected_ones(tmp_path: Path) -> None:
    """No global registry: the five steps and each decision reach the parts of this executor."""
    parts = Recorded()
    with injected(MockProcessManager(OVERLOADED, CLAUDE), tmp_path, parts) as made:
        execute(made, task_id="t-1")
    steps = [hook.step_id for hook in parts.hooks if isinstance(hook, CallStep)]
    attempt = ["model_selected", "cli_spawn_start", "cli_spawn_end"]
    assert steps == ["cli_execution_start", *attempt, *attempt, "cli_execution_end"]
    assert parts.lines[0] == "info t-1: selected model first (claude, m-1)"
    assert parts.lines[1].startswith("warn t-1: attempt 1 on first failed: OVERLOADED")
    assert parts.lines[-1] == "info t-1: succeeded"


def test_an_error_of_the_logger_ends_no_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is printed, as that of every handler of Python."""

    class Broken(Recorded):
        def info(self, message: str) -> None:
            raise RuntimeError("the log is full")

    with injected(MockProcessManager(CLAUDE), tmp_path, Broken()) as made:
        assert execute(made).ok
    assert "the log is full" in capsys.readouterr().err


def test_model_selection_and_retry(tmp_path: Path) -> None:
    """Test strategy: models take turns; a failure is retried on the same model, then the next is tried."""
    manager, retry = MockProcessManager(CLAUDE, OVERLOADED), RetryConfig(retry_same_model=True)
    config = CliExecutorConfig(MODELS, FALLBACK, retry=retry)
    with injected(manager, tmp_path, config=config) as made:
        assert execute(made).ok
        assert execute(made).code is Code.MODELS_EXHAUSTED
    assert manager.models == ["m-1", "m-2", "m-2", "m-1", "m-1", "m-3", "m-3"]


def test_the_fallback_can_be_forced_and_reset(tmp_path: Path) -> None:
    """switch_to_fallback lasts until reset_fallback."""
    manager = MockProcessManager(CLAUDE)
    with injected(manager, tmp_path) as made:
        made.switch_to_fallback()
        execute(made)
        made.reset_fallback()
        execute(made)
    assert manager.models == ["m-3", "m-1"]


def test_all_models_fail(tmp_path: Path) -> None:
    """Edge case: pool exhaustion is one error that names every model with its reason (ERR_CLI_EXEC)."""
    manager = MockProcessManager(REFUSED, "missing", OVERLOADED)
    with injected(manager, tmp_path) as made:
        result = execute(made)
    assert result.code is Code.MODELS_EXHAUSTED is read_code("ERR_CLI_EXEC")
    for name, code in (("first", "AUTH_FAILED"), ("second", "SPAWN_FAILED"), ("third", "OVERLOADED")):
        assert name in result.message and code in result.message


@pytest.mark.parametrize(
    ("retry", "slept"),
    [
        (RetryConfig(retry_same_model=True, max_retries_per_model=2), [60.0, 60.0]),
        (RetryConfig(25_000, retry_same_model=True, max_retries_per_model=2), [25.0, 25.0]),
        (RetryConfig(60_000, True, retry_same_model=True, max_retries_per_model=3), [1.0, 2.0, 4.0]),
    ],
)
def test_rate_limit_backoff(retry: RetryConfig, slept: list[float], tmp_path: Path) -> None:
    """Edge case: a fixed wait or an exponential one, on the same model."""
    manager, clock = MockProcessManager(*[LIMITED] * len(slept), CLAUDE), VirtualClock()
    config = CliExecutorConfig(MODELS[:1], retry=retry)
    with injected(manager, tmp_path, config=config, clock=clock) as made:
        assert execute(made).ok
    # A probe also sleeps, for half of its lease.
    assert [one for one in clock.slept if one != LEASE_SECONDS / 2] == slept


@pytest.mark.parametrize(
    ("attempt", "more", "delay"),
    [
        *((n, (), delay) for n, delay in enumerate([1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000])),
        (3, (500, 30_000), 4000),
        (10**6, (500, 30_000), 30_000),
        (0, (0,), 0),
    ],
)
def test_calculate_backoff_delay(attempt: int, more: tuple[int, ...], delay: int) -> None:
    """min(base * 2^attempt, max) in milliseconds, attempt from 0, 1000 and 60000 by default."""
    assert calculate_backoff_delay(attempt, *more) == delay


def test_a_negative_attempt_is_refused() -> None:
    """It would be a fraction of the base."""
    with pytest.raises(UsageError, match=r"attempt: expected int >= 0, got -1"):
        calculate_backoff_delay(-1)


@pytest.mark.parametrize(
    ("obeys", "signals", "note"),
    [
        ("SIGTERM", ["SIGTERM"], "it was stopped with SIGTERM"),
        ("SIGKILL", ["SIGTERM", "SIGKILL"], "it was sent SIGTERM, then SIGKILL"),
    ],
)
def test_timeout_is_term_then_kill(obeys: str, signals: list[str], note: str, tmp_path: Path) -> None:
    """Edge case: SIGTERM, after sigkill_delay_ms SIGKILL; then the next model is tried."""
    manager, parts = MockProcessManager(f"hangs {obeys}", CLAUDE), Recorded()
    config = CliExecutorConfig(MODELS, timeout=0.05, sigkill_delay_ms=30)
    with injected(manager, tmp_path, parts, config=config) as made:
        assert execute(made).ok
        assert [attempt.code for attempt in made.journal.attempts] == [Code.TIMEOUT, None]
    assert (manager.signals, manager.models) == (signals, ["m-1", "m-2"])
    assert any(note in line for line in parts.lines)


def test_a_cancelled_call_is_stopped(tmp_path: Path) -> None:
    """The same signals, and CancelledError for the caller."""
    manager = MockProcessManager("hangs SIGKILL")
    config = CliExecutorConfig(MODELS, sigkill_delay_ms=30)

    async def go(made: CliExecutor) -> None:
        call = asyncio.create_task(made.execute("Do it.", cwd="/"))
        while not manager.spawned:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with injected(manager, tmp_path, config=config) as made:
        asyncio.run(asyncio.wait_for(go(made), 60))
    assert manager.signals == ["SIGTERM", "SIGKILL"]


def test_a_process_manager_may_start_real_processes(tmp_path: Path) -> None:
    """An asyncio process is a spawned process: its lines, its error output and its exit are read."""
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\ncat > prompt; echo 'no such model: m-1' >&2; exit 3\n")
    program.chmod(0o755)
    config = CliExecutorConfig(MODELS[:1], cli_paths={"claude": str(program)})
    with injected(RealManager(), tmp_path, config=config) as made:
        result = asyncio.run(made.execute("Do it.", cwd=str(tmp_path))).result
    assert (result.exit_code, (tmp_path / "prompt").read_text()[:6]) == (3, "Do it.")
    assert "no such model" in result.message


def test_pre_prompt_event_with_a_mocked_debugger(tmp_path: Path) -> None:
    """Edge case: PRE_PROMPT before each start; a changed prompt is sent, now and later in the call."""
    debugger, manager = Recorded("Do it well.", None), MockProcessManager(OVERLOADED, CLAUDE)
    with injected(manager, tmp_path, debugger=debugger) as made:
        assert execute(made, task_id="t-1").ok
    first = debugger.events[0]
    assert (first.type, first.task_id, first.prompt[:6]) == ("PRE_PROMPT", "t-1", "Do it.")
    assert first.timestamp > 0
    assert (first.data.model, first.data.executor, first.data.model_id) == ("first", "claude", "m-1")
    assert [options.input for _, _, options in manager.spawned] == [b"Do it well."] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="compares with /proc/meminfo")
def test_available_memory_is_that_of_free() -> None:
    """Edge case, Linux: the column `available` of free, which is MemAvailable."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) // 1024
    found = get_available_memory_mb()
    assert found is not None and abs(found - available) < max(512, available // 2)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        # As psutil reports them on macOS, from the counters that vm_stat prints.
        (SimpleNamespace(free=100 * 2**20, inactive=400 * 2**20, available=500 * 2**20), 500),
        (SimpleNamespace(free=100 * 2**20, available=2**20 - 1), 0),
        (psutil.Error(), None),
        (OSError(1, "Operation not permitted"), None),
        (NotImplementedError(), None),
    ],
)
def test_available_memory_elsewhere(reported: Any, expected: int | None, monkeypatch: Any) -> None:
    """Edge case, macOS and others: what can be used without swapping, not only what is free."""

    def virtual_memory() -> Any:
        if isinstance(reported, Exception):
            raise reported
        return reported

    monkeypatch.setattr("ostler.calls.host._MEMINFO", Path("/nowhere"))  # as on macOS
    monkeypatch.setattr(psutil, "virtual_memory", virtual_memory)
    assert get_available_memory_mb() == expected


def test_isolation_pools() -> None:
    """The pools of the seed with size, niceness and memory; by feature, then priority, then medium."""
    pools = WorkerPoolManager({"docs": {"size": 1}})
    with pytest.raises(UsageError, match=r"pools.docs: size: expected int >= 1, got 0"):
        WorkerPoolManager({"docs": {"size": 0}})
    described = {name: (one.size, one.nice, one.memory_mb) for name, one in pools.pools.items()}
    assert described == {
        "high": (2, 0, 2048),
        "medium": (5, 5, 1024),
        "low": (2, 10, 512),
        "background": (1, 15, 256),
        "docs": (1, 0, 1024),
    }
    asked = [("docs", "P0"), ("", "P0"), ("other", "P3"), ("", "")]
    assert [pools.pool_name(*one) for one in asked] == ["docs", "high", "low", "medium"]

    async def hold() -> None:
        async with pools.acquire("docs", 1.0, "one"):
            assert (pools.stats()["docs"].active, pools.stats()["docs"].idle) == (1, 0)
            with pytest.raises(OstlerError, match="held by one") as caught:
                async with pools.acquire("docs", 0.01):
                    pass
        assert caught.value.code is Code.SLOT_TIMEOUT is read_code("ERR_POOL_SLOT_TIMEOUT")
        with pytest.raises(UsageError, match="no pool nowhere"):
            async with pools.acquire("nowhere", 1.0):
                pass

    asyncio.run(hold())
    assert pools.stats()["docs"].active == 0


def test_model_selector() -> None:
    """Primary and fallback models have separate turns; disabled ones are left out."""
    selector = ModelSelector("round-robin", Random(0))
    off = ModelConfig("off", "x", enabled=False)
    pool = ModelPool(
        (ModelConfig("a", "x"), off, ModelConfig("b", "x"), ModelConfig("c", "x", fallback=True))
    )

    def take(count: int) -> list[str]:
        return [model.name for _ in range(count) if (model := selector.get_next(pool))]

    assert take(3) == ["a", "b", "a"]
    selector.switch_to_fallback()
    assert take(2) == ["c", "c"]
    selector.reset()
    assert take(1) == ["a"] and selector.get_total_model_count(pool) == 3
    assert selector.get_next(ModelPool(())) is None
    with pytest.raises(UsageError, match=r"strategy: expected one of .*, got 'best'"):
        ModelSelector("best")  # type: ignore[arg-type]


@pytest.mark.parametrize("spawner", [StandardSpawner, PtySpawner])
def test_spawners_start_a_real_program(spawner: Any) -> None:
    """With pipes or on a terminal; create_spawner prefers a terminal where one can be used."""
    assert isinstance(create_spawner(prefer_pty=False), StandardSpawner)
    expected = PtySpawner if is_terminal_usable() else StandardSpawner
    assert isinstance(create_spawner(prefer_pty=True), expected)
    command = Command(("sh", "-c", "cat; echo"), "/", {"PATH": "/usr/bin:/bin"}, b"heron", timeout_seconds=60)
    lines: list[bytes] = []
    exit = asyncio.run(DefaultCommandRunner(spawner()).run(command, lambda line: bool(lines.append(line))))
    assert ([line.strip() for line in lines if line.strip()], exit.status) == ([b"heron"], 0)


def test_permission_checks_are_not_skipped_without_a_sandbox(tmp_path: Path) -> None:
    """A11: the arguments of a model cannot turn the checks off; nothing is started."""
    manager = MockProcessManager(CLAUDE)
    unsafe = ModelEntry("one", args=("--dangerously-skip-permissions",))
    with injected(manager, tmp_path, config=CliExecutorConfig((unsafe,))) as made:
        result = execute(made)
    assert (result.code, manager.spawned) == (Code.SANDBOX_UNAVAILABLE, [])
