"""The check of models: real processes, three in parallel, none left behind."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.model.limits.window import Window
from ostler.model.policy.model_config import ModelConfig
from ostler.project.agents.model_check import PARALLEL_CALLS, PROMPT, check_models
from ostler.project.project import Project
from ostler.store.accounts.sqlite import SqliteAccounts, open_accounts
from ostler.testing.fake_agent import fake_agent, read_ledger
from ostler.views.models import ProbeResult

Agent = Callable[..., None]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project.open(tmp_path, {}, create=True) as project:
        yield project


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """A fake that answers; its starts and ends are in the ledger."""

    def make(wire: str, **behaviour: object) -> None:
        made = fake_agent(tmp_path / wire, wire, ledger=str(tmp_path / "ledger"), edits={}, **behaviour)
        monkeypatch.setenv(f"OSTLER_{wire.upper()}_PATH", str(made))

    return make


@pytest.fixture
def accounts() -> Iterator[SqliteAccounts]:
    ledger = open_accounts(os.environ)
    yield ledger
    ledger.close()


def ask(project: Project, *choices: ModelConfig, seconds: float = 60) -> dict[str, ProbeResult]:
    return asyncio.run(check_models(project, choices, os.environ, seconds))


def starts(directory: Path) -> list[dict[str, object]]:
    return [line for line in read_ledger(directory / "ledger") if line["event"] == "start"]


def most_at_once(directory: Path) -> int:
    """The maximum number of parallel agents."""
    alive, most = 0, 0
    for line in read_ledger(directory / "ledger"):
        alive += {"start": 1, "end": -1}.get(line["event"], 0)
        most = max(most, alive)
    return most


def test_a_model_that_answers_is_healthy(project: Project, agent: Agent) -> None:
    """One model that answers and one whose key is refused."""
    agent("claude", text="OK")
    agent("codex", fault="api_error", error=401)
    answers = ask(project, ModelConfig("good", "claude"), ModelConfig("bad", "codex"))
    assert answers["good"].ok
    assert answers["good"].seconds > 0
    assert (answers["bad"].ok, answers["bad"].code) == (False, Code.AUTH_FAILED)
    assert answers["bad"].message


def test_the_question(tmp_path: Path, project: Project, agent: Agent) -> None:
    """The model and its arguments are used; the agent works in an empty temporary directory."""
    agent("claude", text="OK")
    assert ask(project, ModelConfig("one", "claude", "claude-opus-4-8", args=("--extra",)))["one"].ok
    (start,) = starts(tmp_path)
    arguments = start["arguments"]
    assert isinstance(arguments, list)
    assert arguments[arguments.index("--model") + 1] == "claude-opus-4-8"
    assert "--extra" in arguments
    assert PROMPT not in " ".join(map(str, arguments))
    assert "ostler-models-" in str(start["cwd"])
    assert not Path(str(start["cwd"])).exists()


def test_the_same_is_asked_once(tmp_path: Path, project: Project, agent: Agent) -> None:
    """Two names of one model share a call; another environment is another account."""
    agent("claude", text="OK")
    choices = [ModelConfig("a", "claude", "m"), ModelConfig("b", "claude", "m", cost_weight=9, fallback=True)]
    other = ModelConfig("c", "claude", "m", env={"CLAUDE_CONFIG_DIR": str(tmp_path / "other")})
    answers = ask(project, *choices, other)
    assert [answers[name].ok for name in "abc"] == [True] * 3
    assert answers["a"] is answers["b"]
    assert len(starts(tmp_path)) == 2


def test_three_at_a_time(tmp_path: Path, project: Project, agent: Agent) -> None:
    """Seven models, at most three parallel agents."""
    agent("claude", text="OK", delay_seconds=0.5)
    answers = ask(project, *(ModelConfig(f"m{n}", "claude", f"m{n}") for n in range(2 * PARALLEL_CALLS + 1)))
    assert all(answer.ok for answer in answers.values())
    assert len(answers) == 2 * PARALLEL_CALLS + 1
    assert most_at_once(tmp_path) <= PARALLEL_CALLS


def test_silence_ends(project: Project, agent: Agent) -> None:
    """A model without an answer is stopped at the timeout."""
    agent("claude", text="OK", delay_seconds=600)
    answer = ask(project, ModelConfig("slow", "claude"), seconds=0.5)["slow"]
    assert (answer.ok, answer.code in (Code.TIMEOUT, Code.IDLE_TIMEOUT)) == (False, True)
    assert answer.seconds < 60
    assert answer.message == "no answer within 0.5 s"


def test_a_program_that_is_not_there(project: Project, agent: Agent) -> None:
    """Returned, not raised; so is an unknown executor."""
    agent("claude", fault="a19_missing")
    answers = ask(project, ModelConfig("gone", "claude"), ModelConfig("odd", "no-such-executor"))
    assert answers["gone"].code is Code.AGENT_NOT_FOUND
    assert answers["odd"].code is Code.USAGE


def test_nothing_to_ask(project: Project) -> None:
    """No models, no calls."""
    assert ask(project) == {}


def test_a_rejection_is_recorded(
    tmp_path: Path, project: Project, agent: Agent, accounts: SqliteAccounts
) -> None:
    """It closes the window for all calls, and the next check does not call the model."""
    agent("claude", fault="api_error", error=429, error_message="You've hit your limit · resets 3pm (UTC)")
    model = ModelConfig("one", "claude")
    assert ask(project, model)["one"].code is Code.QUOTA_EXCEEDED
    (limit,) = accounts.limits(time.time())
    assert (limit.window.provider, limit.code) == ("claude", Code.QUOTA_EXCEEDED)
    assert limit.until > time.time()
    assert ask(project, model) == {}
    assert len(starts(tmp_path)) == 1


def test_other_failures_are_not_recorded(project: Project, agent: Agent, accounts: SqliteAccounts) -> None:
    """A check that a login refuses delays no task."""
    agent("claude", fault="api_error", error=401)
    assert ask(project, ModelConfig("one", "claude"))["one"].code is Code.AUTH_FAILED
    assert accounts.limits(time.time()) == []


def test_the_use_of_windows_is_recorded(project: Project, agent: Agent, accounts: SqliteAccounts) -> None:
    agent("claude", text="OK", limits={"five_hour": [0.4]})
    assert ask(project, ModelConfig("one", "claude"))["one"].ok
    (use,) = accounts.windows(time.time())
    assert (use.window.window, use.reported.used) == ("five_hour", 0.4)


def test_a_due_window_is_probed_by_one_caller(
    tmp_path: Path, project: Project, agent: Agent, accounts: SqliteAccounts
) -> None:
    """A call that probes the account is not joined; a check that probes it keeps other calls away."""
    agent("claude", text="OK", delay_seconds=0.3)
    now, window = time.time(), Window("claude", "", "*", "five_hour")
    accounts.close_window(window, now - 1, Code.QUOTA_EXCEEDED, "used up", now - 9)
    accounts.admit([window], "another call", now)
    assert (ask(project, ModelConfig("one", "claude")), starts(tmp_path)) == ({}, [])
    accounts.close_window(window, now - 1, Code.QUOTA_EXCEEDED, "used up", now - 9)
    assert ask(project, ModelConfig("one", "claude"))["one"].ok
    (limit,) = accounts.limits(now)
    assert ":check-" in limit.prober
