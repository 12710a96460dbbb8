"""The availability of a model, from the settings, the ledger and this machine."""

from __future__ import annotations

import pytest

from ostler.errors import AgentUnavailable, Code, OstlerError
from ostler.model.limits.limit import Cooldown, Limit
from ostler.model.limits.window import Window
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.views.models import ModelStatus, ModelView, ProbeResult, as_json, find_model_status, view_models

NOW = 1_700_000_000.0
SONNET = ModelConfig("sonnet", "claude", "claude-sonnet-5-5", cost_weight=30)
WEEK = Limit(Window("claude", "", "*", "seven_day"), NOW + 900, Code.QUOTA_EXCEEDED, "used up", NOW)
HOUR = Limit(Window("claude", "", "claude-sonnet-5-5", "hour"), NOW + 60, Code.RATE_LIMITED, "slow", NOW)
TIRED = Cooldown("sonnet", 3, NOW + 600, Code.OVERLOADED, "busy", NOW)
COUNTED = Cooldown("sonnet", 2, None, Code.OVERLOADED, "busy", NOW)
MISSING = {"claude": AgentUnavailable("claude was not found", "install it with: npm install claude")}
UNSAFE = {"claude": OstlerError(Code.SANDBOX_UNAVAILABLE, "it may do anything", "allow it")}


@pytest.mark.parametrize(
    ("choice", "limits", "rests", "refused", "expected"),
    [
        (SONNET, [], [], {}, ModelStatus()),
        (SONNET, [], [COUNTED], {}, ModelStatus("ready", None, 2, Code.OVERLOADED, "busy")),
        (SONNET, [], [TIRED], {}, ModelStatus("cooldown", NOW + 600, 3, Code.OVERLOADED, "busy")),
        (
            SONNET,
            [HOUR, WEEK],
            [TIRED],
            {},
            ModelStatus("limited", NOW + 900, 0, Code.QUOTA_EXCEEDED, "used up"),
        ),
        (
            SONNET,
            [WEEK],
            [TIRED],
            MISSING,
            ModelStatus(
                "not_installed", None, 0, Code.AGENT_NOT_FOUND, "install it with: npm install claude"
            ),
        ),
        (SONNET, [], [], UNSAFE, ModelStatus("unusable", None, 0, Code.SANDBOX_UNAVAILABLE, "allow it")),
        (ModelConfig("sonnet", "claude", enabled=False), [WEEK], [TIRED], MISSING, ModelStatus("disabled")),
        (ModelConfig("mine", "claude", account="work"), [WEEK], [TIRED], {}, ModelStatus()),
        (ModelConfig("gpt", "codex"), [WEEK], [TIRED], MISSING, ModelStatus()),
    ],
)
def test_the_first_reason_that_applies(
    choice: ModelConfig,
    limits: list[Limit],
    rests: list[Cooldown],
    refused: dict[str, OstlerError],
    expected: ModelStatus,
) -> None:
    """Disabled, missing, limited or cooling down; other accounts, executors and names are unaffected."""
    assert find_model_status(choice, limits, rests, refused) == expected


def test_the_order_is_that_of_the_settings() -> None:
    """Fallback models included."""
    pool = ModelPool((ModelConfig("b", "x", fallback=True), ModelConfig("a", "y")))
    assert [view.config.name for view in view_models(pool, [], [], {})] == ["b", "a"]


def test_the_only_model_has_no_cooldown() -> None:
    """It is called whatever its failures are; a disabled model does not count as another one."""
    disabled, other = ModelConfig("b", "x", enabled=False), ModelConfig("a", "y")
    pools = (SONNET,), (SONNET, disabled), (SONNET, other)
    states = [view_models(ModelPool(pool), [], [TIRED], {})[0].status.state for pool in pools]
    assert states == ["ready", "ready", "cooldown"]


def test_json() -> None:
    """Times are RFC 3339, unknown values are null."""
    view = ModelView(
        SONNET, find_model_status(SONNET, [WEEK], [], {}), ProbeResult(False, 1.5, Code.TIMEOUT, "silent")
    )
    assert as_json(view) == {
        "name": "sonnet",
        "executor": "claude",
        "model": "claude-sonnet-5-5",
        "account": None,
        "login": "claude",
        "window": None,
        "cost_weight": 30,
        "pool": "primary",
        "state": "limited",
        "until": "2023-11-14T22:28:20.000Z",
        "failures": 0,
        "code": Code.QUOTA_EXCEEDED,
        "message": "used up",
        "answer": {"ok": False, "seconds": 1.5, "code": "TIMEOUT", "message": "silent"},
        "last_call": None,
    }
    plain = as_json(ModelView(ModelConfig("own", "codex", fallback=True), ModelStatus()))
    assert (plain["model"], plain["until"], plain["answer"], plain["pool"]) == (None, None, None, "fallback")
