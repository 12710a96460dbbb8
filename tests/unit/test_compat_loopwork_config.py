"""Seed 000 (loopwork): the configuration of its CliExecutor and the parts that it is given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ostler
from loopwork_executor import CLAUDE, LIMITED, execute, injected
from ostler.compat import CliExecutor, CliExecutorConfig, RetryConfig
from ostler.config.settings import Settings
from ostler.errors import UsageError
from ostler.model.limits.limit import LEASE_SECONDS
from ostler.testing.virtual_clock import VirtualClock
from process_manager import MockProcessManager, Recorded


def test_defaults_of_the_configuration() -> None:
    """Those of the seed: round-robin, 600 s, SIGKILL after 5 s, a rate limit of 60 s, one repeat."""
    config, retry = CliExecutorConfig(), RetryConfig()
    assert (config.selection_strategy, config.timeout, config.sigkill_delay_ms) == ("round-robin", 600, 5000)
    assert (retry.rate_limit_wait_ms, retry.base_delay_ms, retry.max_delay_ms) == (60_000, 1000, 60_000)
    assert (retry.exponential_backoff, retry.retry_same_model, retry.max_retries_per_model) == (
        False,
        False,
        1,
    )
    settings = config.to_settings()
    assert (settings.run.timeout_seconds, settings.run.grace_seconds) == (600.0, 5.0)
    assert (settings.retry.max_retries, settings.retry.rate_limit_wait_seconds) == (0, 60.0)


def test_the_configuration_may_be_the_seeds_own_json(tmp_path: Path) -> None:
    """A mapping with camelCase keys; Settings of Ostler are accepted too."""
    manager = MockProcessManager(CLAUDE)
    config = {
        "models": [{"name": "dear", "model": "m-1", "costWeight": 90}, {"name": "cheap", "model": "m-2"}],
        "selectionStrategy": "cost-aware",
        "retry": {"rateLimitWaitMs": 5},
    }
    with injected(manager, tmp_path, config=config) as made:
        execute(made)
    with injected(manager, tmp_path, config=Settings()) as made:
        execute(made)
    assert manager.models == ["m-2", ""]


def test_the_whole_json_of_the_seed_is_accepted(tmp_path: Path) -> None:
    """Keys without an effect are logged; the limits of pools, the flag and the newer retry keys count."""
    model = {"name": "one", "displayName": "One", "model": "m-1", "temperature": 0.2, "capability": "high"}
    config = {
        "models": [model],
        "fallbackModels": [{"name": "two", "model": "m-2", "maxTokens": 9}],
        "workerPools": {"high": {"size": 5, "nice": 1, "memoryLimitMB": 99}},
        "retry": {
            "exponentialBackoff": True, "backoffMultiplier": 2, "retrySameModel": True,
            "maxRetriesPerModel": 3, "delayBetweenModelAttemptsMs": 2000,
        },
        "progressIntervalMs": 2000,
        "namespace": "nightly",
        "flags": {"forceFallback": True},
    }  # fmt: skip
    manager, parts, clock = MockProcessManager(LIMITED, LIMITED, CLAUDE), Recorded(), VirtualClock()
    with injected(manager, tmp_path, parts, config=config, clock=clock) as made:
        assert execute(made, priority="high").ok
        assert (made.slots.stats()["high"].limit, made.slots.pools["high"].memory_mb) == (5, 99)
    assert manager.models == ["m-2"] * 3 and manager.spawned[0][2].nice == 1
    assert [one for one in clock.slept if one != LEASE_SECONDS / 2] == [2.0, 4.0]
    unused = [line.split()[2] for line in parts.lines if line.endswith("has no effect")]
    entry = ["models[0].displayName", "models[0].temperature", "models[0].capability"]
    assert unused == ["progressIntervalMs", "namespace", *entry, "fallbackModels[0].maxTokens"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"models": [{"name": "a", "cli": "cluade"}]}, "unknown executor: cluade"),
        ({"models": [{"name": "a"}], "fallbackModels": [{"name": "a"}]}, "two models are named a"),
        ({"models": [{"name": ""}]}, 'models[0].name: expected str that is not empty, got ""'),
        ({"models": "claude"}, 'models: expected a list of tables, got "claude"'),
        ({"modles": []}, "modles: unknown setting; did you mean models?"),
        (
            {"selectionStrategy": "best"},
            'expected one of "round-robin", "priority", "cost-aware", "random", got "best"',
        ),
        ({"timeout": 0}, "> 0"),
        ({"retry": {"maxRetriesPerModel": -1}}, ">= 0"),
        (CliExecutorConfig(timeout=-1.0), "> 0"),
        (CliExecutorConfig(models=7), "models: expected a list of tables, got 7"),  # type: ignore[arg-type]
        (7, "CliExecutorConfig: expected a table, got 7"),
        ({"cliPaths": {"cluade": "/x"}}, "unknown executor: cluade"),
        ({"retry": {"backoffMultiplier": 3}}, "retry.backoffMultiplier: expected 2, got 3"),
        ({"flags": {"force": True}}, "flags.force: unknown setting"),
    ],
)
def test_an_invalid_configuration_is_refused_at_once(config: Any, message: str, tmp_path: Path) -> None:
    """One sentence with the value that is wrong, before anything is created."""
    with pytest.raises(UsageError) as caught:
        CliExecutor(config, MockProcessManager(CLAUDE), home=tmp_path / "home")
    assert message in caught.value.message and caught.value.hint
    assert not (tmp_path / "home").exists()
    with pytest.raises(UsageError, match="process_manager: expected an object with a method spawn"):
        CliExecutor(None, object(), home=tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"logger": 7},
            "logger: expected a logging.Logger or an object with debug, info, warn, error, got 7",
        ),
        ({"debugger": 7}, "debugger: expected an object with pre_prompt, or with emit and get_and_clear"),
        ({"plugin_registry": 7}, "plugins: expected a PluginRegistry, got 7"),
    ],
)
def test_a_part_without_its_methods_is_refused_at_once(
    parts: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """Its argument is named, before anything is created."""
    with pytest.raises(UsageError, match=message):
        CliExecutor({}, home=tmp_path / "home", **parts)
    assert not (tmp_path / "home").exists()
    with pytest.raises(UsageError, match=r"logger: expected a logging.Logger, got 7"):
        ostler.CliExecutor({}, logger=7, home=tmp_path / "home")  # type: ignore[arg-type]


def test_a_debugger_that_returns_no_text_is_refused(tmp_path: Path) -> None:
    """The message names the value; nothing is sent."""
    manager, bad = MockProcessManager(CLAUDE), SimpleNamespace(emit=print, get_and_clear_modified_prompt=int)
    with (
        injected(manager, tmp_path, debugger=bad) as made,
        pytest.raises(UsageError, match="debugger: expected a prompt as text, or None, got 0"),
    ):
        execute(made)
    assert manager.spawned == []
