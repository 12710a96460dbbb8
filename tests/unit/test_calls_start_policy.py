"""On which models a new task starts: limits.stop_at, keep_for_me and use_before_reset."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ostler.calls.models.start_policy import find_start_holds, stop_threshold
from ostler.clock import format_local_time
from ostler.config.settings import LimitsSettings
from ostler.model.limits.window import ReportedWindow, Window, WindowUse
from ostler.model.policy.model_config import Login, ModelConfig, ModelPool
from ostler.model.task import Priority

NOW, HOUR = 1_700_000_000.0, 3600.0
RESET = NOW + 2 * HOUR
SONNET = ModelConfig("sonnet", "claude", "claude-sonnet-5", login=Login("claude", "claude"))
OPUS = ModelConfig("opus", "claude", "claude-opus-4-6", login=Login("claude", "claude"))
DEFAULT = ModelConfig("default", "claude", "", login=Login("claude", "claude"))
GPT = ModelConfig("gpt", "codex", "gpt-5", login=Login("codex", "codex"))
POOL = ModelPool((SONNET, OPUS, DEFAULT, GPT))


def use(
    used: float | None, name: str = "five_hour", resets_at: float | None = RESET, **more: object
) -> WindowUse:
    reported = ReportedWindow(name, used, resets_at, **more)  # type: ignore[arg-type]
    return WindowUse(Window("claude", "", reported.family or "*", name), reported, NOW - 60, "claude")


def held(*uses: WindowUse, priority: Priority = "P2", now: float = NOW, **limits: object) -> dict[str, float]:
    """Return the models on which nothing starts, and for how many hours."""
    settings = LimitsSettings(**limits)  # type: ignore[arg-type]
    holds = find_start_holds(POOL, uses, settings, priority, now)
    return {name: (hold.until - NOW) / HOUR for name, hold in holds.items()}


CLAUDE = {"sonnet": 2.0, "opus": 2.0, "default": 2.0}


@pytest.mark.parametrize(
    ("used", "limits", "expected"),
    [
        (0.94, {}, {}),
        (0.95, {}, CLAUDE),
        (1.2, {}, CLAUDE),
        (None, {}, {}),
        (0.95, {"stop_at": 1.0}, {}),
        (0.95, {"keep_for_me": 0.05}, CLAUDE),
        (0.80, {"keep_for_me": 0.2}, CLAUDE),
        (0.79, {"keep_for_me": 0.2}, {}),
        (0.5, {"stop_at": 0.5, "keep_for_me": 0.2}, CLAUDE),
        (0.0, {"keep_for_me": 1.0}, CLAUDE),
    ],
)
def test_the_threshold(used: float | None, limits: dict[str, object], expected: dict[str, float]) -> None:
    """The lower one of stop_at and 1 - keep_for_me; other accounts are not affected."""
    assert held(use(used), **limits) == expected


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([use(0.99, "overage")], {}),
        ([use(0.99, "minute")], {}),
        ([use(0.99, "requests")], {}),
        ([use(0.99, seconds=60.0)], {}),
        ([use(0.99, "24h")], CLAUDE),
        ([use(0.99, "seven_day_opus", family="opus")], {"opus": 2.0}),
        ([use(0.99), use(0.99, "seven_day", RESET + HOUR)], dict.fromkeys(CLAUDE, 3.0)),
        ([use(0.99, status="rejected")], CLAUDE),  # the account pays for more, and calls succeed
        ([use(0.99, status="rejected", resets_at=None)], {}),
        ([use(0.99, resets_at=NOW)], {}),
        ([use(0.99, "24h", None)], dict.fromkeys(CLAUDE, 5 - 1 / 60)),
        ([replace(use(0.99, resets_at=None), noted_at=NOW - 6 * HOUR)], {}),
    ],
)
def test_the_windows(windows: list[WindowUse], expected: dict[str, float]) -> None:
    """Windows of a plan count until their reset; of a family only for its models."""
    assert held(*windows) == pytest.approx(expected)


def test_the_message_names_account_window_use_reset_and_setting() -> None:
    settings = LimitsSettings()
    (hold,) = find_start_holds(ModelPool((SONNET,)), [use(0.96)], settings, "P2", NOW).values()
    assert hold.message.startswith("claude: five-hour window 96 % used, resets ")
    assert hold.message.endswith("; limits.stop_at = 0.95")
    kept = LimitsSettings(keep_for_me=0.2)
    (hold,) = find_start_holds(ModelPool((SONNET,)), [use(0.96)], kept, "P2", NOW).values()
    assert hold.message.endswith("; limits.keep_for_me = 0.2")
    assert stop_threshold(kept) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("priority", "minutes", "uses", "expected"),
    [
        ("P2", 0, [use(0.2)], {}),
        ("P3", 0, [use(0.2)], {"sonnet": 1.0, "opus": 1.0, "default": 1.0, "gpt": 2.0}),
        ("P3", 59, [use(0.2)], {"sonnet": 1.0, "opus": 1.0, "default": 1.0, "gpt": 2.0}),
        ("P3", 60, [use(0.2)], {"gpt": 2.0}),
        ("P3", 60, [use(0.96)], CLAUDE | {"gpt": 2.0}),
        ("P3", 60, [use(None)], {"gpt": 2.0}),
        ("P3", 60, [use(0.2, resets_at=RESET + HOUR), use(0.2, "seven_day")], {"gpt": 2.0}),
        ("P3", 0, [], {}),
        ("P3", 0, [use(0.2, resets_at=None)], {}),
        ("P3", 121, [use(0.2)], {}),
    ],
)
def test_what_is_left_before_a_reset(
    priority: Priority, minutes: int, uses: list[WindowUse], expected: dict[str, float]
) -> None:
    """Tasks of P3 start in the last hour of a window with use left; without a known window, at once."""
    now = NOW + minutes * 60
    assert held(*uses, priority=priority, now=now, use_before_reset=True) == pytest.approx(expected)
    assert "gpt" not in held(*uses, priority=priority, now=now)


def test_a_reset_time_that_is_too_late_holds_tasks_for_one_window() -> None:
    """A provider, a gateway or a clock may be wrong by years."""
    late = held(use(0.96, resets_at=NOW + 1e9))
    assert late == pytest.approx(dict.fromkeys(CLAUDE, 5 - 1 / 60))
    hold = find_start_holds(POOL, [use(0.96, resets_at=NOW + 1e9)], LimitsSettings(), "P2", NOW)["opus"]
    assert f"resets {format_local_time(hold.until, NOW)};" in hold.message


def test_the_share_is_printed_as_everywhere() -> None:
    hold = find_start_holds(POOL, [use(0.956)], LimitsSettings(), "P2", NOW)["opus"]
    assert "95 % used" in hold.message
