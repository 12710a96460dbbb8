"""Models of two accounts, and the results of calls that meet a limit."""

from __future__ import annotations

from msgspec.structs import replace

from call_bench import ok
from ostler.errors import Code
from ostler.model.call import CallResult
from ostler.model.limits.window import ReportedWindow, WindowStatus
from ostler.model.policy.model_config import Login, ModelConfig
from ostler.testing.virtual_clock import VirtualClock

NOW = VirtualClock().now()
HOUR = 3600.0
RESET = NOW + 3 * HOUR
WORK, HOME = Login("claude@1", "claude (~/.work)"), Login("claude@2", "claude (~/.home)")
SONNET = ModelConfig("sonnet", "claude", "claude-sonnet-5", login=WORK)
OPUS = ModelConfig("opus", "claude", "claude-opus-4-6", login=WORK)
AT_HOME = ModelConfig("at-home", "claude", "claude-sonnet-5", login=HOME)
GPT = ModelConfig("gpt", "codex", "gpt-5")


def window(
    name: str = "five_hour",
    used: float | None = 1.0,
    resets_at: float | None = RESET,
    status: WindowStatus = "rejected",
) -> ReportedWindow:
    family = name.removeprefix("seven_day_") if name.startswith("seven_day_") else ""
    return ReportedWindow(name, used, resets_at, status, family=family)


def rejected(*windows: ReportedWindow, text: str = "You've hit your limit") -> CallResult:
    windows = windows or (window(),)
    return CallResult(Code.QUOTA_EXCEEDED, text, text=text, session_id="s", windows=windows)


def answers(used: float = 0.1, name: str = "five_hour", resets_at: float = RESET) -> CallResult:
    return replace(ok(), windows=(window(name, used, resets_at, "allowed"),))
