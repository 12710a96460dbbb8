"""Names of the seeds for calls: executor, selector, slots, spawners, events."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ostler.calls.debugger import PromptData
from ostler.config.settings import PoolSettings
from ostler.model.command import Command
from ostler.model.ids import TaskId
from ostler.model.model_config import ModelConfig, ModelPool
from ostler.process.runner import DefaultCommandRunner
from ostler.process.terminal import is_terminal_usable
from ostler.testing.virtual_clock import VirtualClock
from seed_names import Check, Named, Row, find_name

ECHO = Command(("sh", "-c", "cat; echo"), "/", {"PATH": "/usr/bin:/bin"}, b"said", timeout_seconds=60.0)


def run_echo(runner: Any) -> tuple[list[bytes], int]:
    lines: list[bytes] = []
    exit = asyncio.run(runner.run(ECHO, lambda line: bool(lines.append(line))))
    return [line.strip() for line in lines if line.strip()], exit.status


def cli_executor(executor_class: Named, _: Path) -> None:
    """The parameters that seed 000 injects, in its order. See test_calls_cli_executor.py."""
    given = inspect.signature(executor_class).parameters
    assert list(given)[:4] == ["settings", "processes", "plugins", "logger"]
    assert {"selector", "slots", "clock", "debugger"} <= set(given)


def model_selector(selector_class: Named, _: Path) -> None:
    """Rotates, and starts with the fallback models after a switch."""
    selector = selector_class("round-robin", Random(0))
    pool = ModelPool((ModelConfig("a", "x"), ModelConfig("b", "x"), ModelConfig("c", "x", fallback=True)))
    assert [selector.get_next(pool).name for _ in range(3)] == ["a", "b", "a"]
    selector.switch_to_fallback()
    assert selector.get_next(pool).name == "c"
    assert selector.get_total_model_count(pool) == 3


def worker_pool(pool_class: Named, _: Path) -> None:
    """Pool by feature, then priority, then medium; slots are counted and released."""
    pool = pool_class({"docs": PoolSettings(size=1)}, VirtualClock())
    asked = [("docs", "P0"), ("", "P0"), ("other", "P3"), ("", "")]
    assert [pool.pool_name(*one) for one in asked] == ["docs", "high", "low", "medium"]

    async def hold() -> int:
        async with pool.acquire("docs", 1.0):
            return pool.stats()["docs"].active

    assert (asyncio.run(hold()), pool.stats()["docs"].active) == (1, 0)


def spawner_factory(create_spawner: Named, _: Path) -> None:
    """Pipes, or a terminal where available."""
    assert type(create_spawner(prefer_pty=False)).__name__ == "StandardSpawner"
    expected = "PtySpawner" if is_terminal_usable() else "StandardSpawner"
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


TABLE: list[Row] = [
    ("CliExecutor", "calls.cli_executor", cli_executor),
    ("ModelSelector", "calls.models.selector", model_selector),
    ("WorkerPool", "calls.models.slots", worker_pool),
    ("WorkerPoolManager", "calls.models.slots", worker_pool),
    ("create_spawner", "process.spawner", spawner_factory),
    ("StandardSpawner", "process.spawner", spawner),
    ("PtySpawner", "process.terminal", spawner),
    ("calculate_backoff_delay", "calls.models.retry", backoff),
    ("get_available_memory_mb", "calls.host", available_memory),
    ("PrePromptEvent", "calls.debugger", pre_prompt_event),
]


@pytest.mark.parametrize(("name", "home", "check"), TABLE, ids=[name for name, *_ in TABLE])
def test_name_is_there_and_behaves(name: str, home: str, check: Check, tmp_path: Path) -> None:
    """Importable from its module, with one behaviour checked."""
    check(find_name(name, home), tmp_path)
