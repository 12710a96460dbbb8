"""Accounts with their windows, and the line of those that are nearly used or closed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from limits_world import HOUR, window_use
from ostler.errors import Code
from ostler.model.limits.limit import Limit
from ostler.model.limits.titles import format_share, window_title
from ostler.model.limits.window import Window, WindowUse
from ostler.model.policy.model_config import Login, ModelConfig
from ostler.views.limits import LimitsView, find_window, summarize, view_limits

NOW = 1_763_250_000.0  # 2025-11-15 23:40 UTC
OPUS = ModelConfig("opus", "claude", "claude-opus-4-8", login=Login("claude", "claude"))
SONNET = replace(OPUS, name="sonnet", model="claude-sonnet-5-5")
WORK = replace(OPUS, name="work", login=Login("claude@12ab", "claude (~/.claude-work)"))


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def use(name: str, used: float | None, **fields: Any) -> WindowUse:
    return window_use(name, used, NOW, **fields)


def closed(window: Window, until: float, code: Code = Code.QUOTA_EXCEEDED) -> Limit:
    return Limit(window, until, code, "used up", NOW)


def view(*windows: WindowUse, limits: tuple[Limit, ...] = (), stop_at: float | None = None) -> LimitsView:
    return view_limits(limits, windows, NOW, stop_at=stop_at)


def line_of(*windows: WindowUse, limits: tuple[Limit, ...] = ()) -> str:
    return summarize(view(*windows, limits=limits).alerts, NOW)


def test_the_accounts_of_the_project_are_first() -> None:
    """Each with its models, also before anything is reported; then all others by name."""
    gemini = closed(Window("gemini"), NOW + 1)
    shown = view_limits(
        (gemini,), (use("seven_day", 0.1, provider="codex"),), NOW, models=(SONNET, WORK, OPUS)
    )
    assert [(one.label, one.models) for one in shown.accounts] == [
        ("claude", ("sonnet", "opus")),
        ("claude (~/.claude-work)", ("work",)),
        ("codex", ()),
        ("gemini", ()),
    ]


def test_short_windows_are_first() -> None:
    """In the order of their lengths, however they were recorded."""
    names = ("overage", "seven_day_opus", "seven_day", "five_hour")
    (account,) = view(*(use(name, 0.1) for name in names)).accounts
    assert [one.title for one in account.windows] == ["five-hour", "weekly", "weekly opus", "overage"]


def test_a_circuit_belongs_to_the_account_of_its_route() -> None:
    """A failed login and a used window of one login are one account; a named account is another one."""
    login = closed(Window("claude#77", "", "*", "login"), NOW + 60, Code.AUTH_FAILED)
    named = closed(Window("", "claude"), NOW + 60)
    shown = view(use("five_hour", 0.2), limits=(login, named))
    assert [(one.id, len(one.windows), len(one.closed)) for one in shown.accounts] == [
        ("claude", 0, 1),
        ("claude@", 1, 1),
    ]


@pytest.mark.parametrize(
    ("used", "status", "stop_at", "level"),
    [
        (0.5, "allowed", 0.95, "ok"),
        (0.5, "warning", 0.95, "near"),
        (0.9, "allowed", None, "near"),
        (0.95, "allowed", 0.95, "stopped"),
        (0.99, "allowed", None, "near"),
        (0.2, "rejected", 0.95, "rejected"),
        (None, "allowed", 0.0, "ok"),
    ],
)
def test_the_level_of_a_window(used: float | None, status: Any, stop_at: float | None, level: str) -> None:
    (account,) = view(use("five_hour", used, status=status), stop_at=stop_at).accounts
    assert account.windows[0].level == level


SUMMARIES = {
    "": [use("five_hour", 0.89), use("overage", 1.0), use("minute", 0.99)],
    "claude: five-hour 93 %, resets 01:40": [use("five_hour", 0.93), use("seven_day", 0.91)],
    "claude: weekly 95 %": [use("five_hour", 0.93), use("seven_day", 0.95, resets_in=None)],
    "claude: quota rejected": [use("quota", None, resets_in=None, status="rejected")],
    "claude: five-hour 93 %, resets 01:40; work: weekly 97 %, resets 2025-11-17 23:40": [
        use("seven_day", 0.97, account="work", resets_in=48 * HOUR),
        use("five_hour", 0.93),
    ],
}


@pytest.mark.parametrize("line", SUMMARIES)
def test_what_is_nearly_used_is_one_line(line: str) -> None:
    """The fullest window of each account; nothing while there is enough left."""
    assert line_of(*SUMMARIES[line]).replace("2025-11-16 ", "") == line


def test_a_line_has_the_short_name_of_an_account_if_it_is_unique() -> None:
    """The details of a login are needed to tell two of them apart, and nowhere else."""
    work = replace(use("five_hour", 0.93, provider="claude@12"), label="claude (~/.claude-work)")
    assert line_of(work).startswith("claude: five-hour 93 %")
    both = line_of(work, use("five_hour", 0.95))
    assert [one.partition(": ")[0] for one in both.split("; ")] == ["claude", "claude (~/.claude-work)"]


def test_what_is_closed_is_in_the_line() -> None:
    """The account rather than one of its models, and no window that only waits for its probe."""
    week = Window("claude", "", "*", "seven_day")
    opus = Window("claude", "", "opus", "seven_day_opus")
    later = (closed(opus, NOW + 900), closed(week, NOW + 600))
    line = "claude limited until 23:50 (weekly)"
    assert line_of(use("five_hour", 0.97), limits=later) == line
    assert line_of(limits=(closed(opus, NOW + 600),)) == "claude limited until 23:50 (weekly opus)"
    assert line_of(limits=(closed(week, NOW - 1),)) == ""
    login = closed(Window("codex#", "", "*", "login"), NOW + 600, Code.AUTH_FAILED)
    assert line_of(limits=(login,)) == "codex not called until 23:50 (AUTH_FAILED)"


def test_a_model_has_the_fullest_window_that_counts_it() -> None:
    """The weekly window of opus counts no call of sonnet."""
    shown = view(use("five_hour", 0.3), use("seven_day_opus", 0.8, family="opus"))
    accounts = {account.id: account for account in shown.accounts}
    found = [find_window(model, accounts) for model in (SONNET, OPUS, WORK)]
    assert [one and one.name for one in found] == ["five_hour", "seven_day_opus", None]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("24h", "24 h"),
        ("30d", "30 d"),
        ("45m", "45 min"),
        ("input-tokens", "input tokens"),
        ("seven_day_sonnet", "weekly sonnet"),
        ("requests", "requests"),
    ],
)
def test_the_title_of_a_window(name: str, title: str) -> None:
    assert window_title(name) == title


@pytest.mark.parametrize(("share", "text"), [(0.29, "29 %"), (0.999, "99 %"), (1.04, "104 %"), (None, "")])
def test_a_share_is_rounded_down(share: float | None, text: str) -> None:
    assert format_share(share) == text
