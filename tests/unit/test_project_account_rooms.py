"""The accounts of a forecast: those that the waiting tasks may use, and the windows that count for them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from ostler.config.settings import LimitsSettings, Settings
from ostler.model.ids import TaskId
from ostler.model.limits.window import ReportedWindow, Window, WindowUse
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.project.tasks.account_rooms import find_accounts
from ostler.store.accounts.sqlite import open_accounts
from ostler.store.queries.past_attempts import History, PastAttempt

NOW = time.time()
HOUR = 3600.0
SONNET, OPUS = ModelConfig("sonnet", "claude", "sonnet"), ModelConfig("opus", "claude", "opus")
WORK, HOME = ModelConfig("w", "claude", account="work"), ModelConfig("h", "claude", account="home")
CODEX = ModelConfig("gpt", "codex")


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    """A ledger in which claude has used a third of five hours and all of its week of opus."""
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    five_hour = ReportedWindow("five_hour", 0.3, NOW + HOUR, seconds=5 * HOUR)
    weekly = ReportedWindow("seven_day_opus", 1.0, NOW + 48 * HOUR, "rejected", family="opus")
    uses = [
        WindowUse(Window("claude", "", "*", "five_hour"), five_hour, NOW, "claude"),
        WindowUse(Window("claude", "", "opus", "seven_day_opus"), weekly, NOW, "claude"),
        WindowUse(Window("", "work", "*", "five_hour"), five_hour, NOW, "work"),
        WindowUse(Window("", "home", "*", "five_hour"), five_hour, NOW, "home"),
    ]
    with closing(open_accounts(environ)) as ledger:
        ledger.note_windows(uses)
    return environ


def find(environ: Mapping[str, str], *pools: tuple[ModelConfig, ...], rotate: bool = False) -> dict[str, int]:
    """Return the number of windows of each account; sonnet and opus have been used by claude's login."""
    used = [
        PastAttempt(TaskId("t"), 1, "implement", NOW, account="claude@", executor="claude", model_name=name)
        for name in ("sonnet", "opus")
    ]
    settings = Settings(limits=LimitsSettings(rotate_accounts=rotate))
    found = find_accounts(map(ModelPool, pools), History(tuple(used)), settings, environ, NOW)
    return {account.name: len(account.windows) for account in found}


def test_windows_of_another_family_do_not_count(environ: Mapping[str, str]) -> None:
    assert find(environ, (SONNET,)) == {"claude": 1}
    assert find(environ, (OPUS,)) == {"claude": 2}


def test_accounts_of_other_models_do_not_count(environ: Mapping[str, str]) -> None:
    """The last attempts used claude; now only codex is configured, whose login is not known yet."""
    assert find(environ, (CODEX,)) == {}
    assert find(environ, (SONNET, CODEX)) == {}
    assert find(environ, (SONNET,), (OPUS,)) == {}  # tasks with different models


def test_without_rotation_only_the_first_account_counts(environ: Mapping[str, str]) -> None:
    assert find(environ, (WORK, HOME)) == {"work": 1}
    assert find(environ, (WORK, HOME), (WORK, HOME), rotate=True) == {"work": 1, "home": 1}
