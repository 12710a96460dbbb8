"""How a model stands, from the settings, the ledger and this machine."""

from __future__ import annotations

import pytest

from ostler.errors import AgentUnavailable, Code, OstlerError
from ostler.model.choice import Choice, ModelPool
from ostler.model.limit import Limit, Rest, Window
from ostler.views.models import Answer, ModelView, Standing, as_json, standing, view_models

NOW = 1_700_000_000.0
SONNET = Choice("sonnet", "claude", "claude-sonnet-5-5", cost_weight=30)
WEEK = Limit(Window("claude", "", "*", "seven_day"), NOW + 900, Code.QUOTA_EXCEEDED, "used up", NOW)
HOUR = Limit(Window("claude", "", "claude-sonnet-5-5", "hour"), NOW + 60, Code.RATE_LIMITED, "slow", NOW)
TIRED = Rest("sonnet", 3, NOW + 600, Code.OVERLOADED, "busy", NOW)
COUNTED = Rest("sonnet", 2, None, Code.OVERLOADED, "busy", NOW)
MISSING = {"claude": AgentUnavailable("claude was not found", "install it with: npm install claude")}
UNSAFE = {"claude": OstlerError(Code.SANDBOX_UNAVAILABLE, "it may do anything", "allow it")}


@pytest.mark.parametrize(
    ("choice", "limits", "rests", "refused", "expected"),
    [
        (SONNET, [], [], {}, Standing()),
        (SONNET, [], [COUNTED], {}, Standing("ready", None, 2, Code.OVERLOADED, "busy")),
        (SONNET, [], [TIRED], {}, Standing("resting", NOW + 600, 3, Code.OVERLOADED, "busy")),
        (
            SONNET,
            [HOUR, WEEK],
            [TIRED],
            {},
            Standing("limited", NOW + 900, 0, Code.QUOTA_EXCEEDED, "used up"),
        ),
        (
            SONNET,
            [WEEK],
            [TIRED],
            MISSING,
            Standing("not_installed", None, 0, Code.AGENT_NOT_FOUND, "install it with: npm install claude"),
        ),
        (SONNET, [], [], UNSAFE, Standing("unusable", None, 0, Code.SANDBOX_UNAVAILABLE, "allow it")),
        (Choice("sonnet", "claude", enabled=False), [WEEK], [TIRED], MISSING, Standing("disabled")),
        (Choice("mine", "claude", account="work"), [WEEK], [TIRED], {}, Standing()),
        (Choice("gpt", "codex"), [WEEK], [TIRED], MISSING, Standing()),
    ],
)
def test_the_first_reason_that_applies(
    choice: Choice,
    limits: list[Limit],
    rests: list[Rest],
    refused: dict[str, OstlerError],
    expected: Standing,
) -> None:
    """Disabled, missing, limited, resting; another account, executor or name is not concerned."""
    assert standing(choice, limits, rests, refused) == expected


def test_the_order_is_that_of_the_settings() -> None:
    """Fallback models included."""
    pool = ModelPool((Choice("b", "x", fallback=True), Choice("a", "y")))
    assert [view.choice.name for view in view_models(pool, [], [], {})] == ["b", "a"]


def test_json() -> None:
    """Times are RFC 3339, what is not known is null."""
    view = ModelView(SONNET, standing(SONNET, [WEEK], [], {}), Answer(False, 1.5, Code.TIMEOUT, "silent"))
    assert as_json(view) == {
        "name": "sonnet",
        "executor": "claude",
        "model": "claude-sonnet-5-5",
        "account": None,
        "cost_weight": 30,
        "pool": "primary",
        "state": "limited",
        "until": "2023-11-14T22:28:20.000Z",
        "failures": 0,
        "code": Code.QUOTA_EXCEEDED,
        "message": "used up",
        "answer": {"ok": False, "seconds": 1.5, "code": "TIMEOUT", "message": "silent"},
    }
    plain = as_json(ModelView(Choice("own", "codex", fallback=True), Standing()))
    assert (plain["model"], plain["until"], plain["answer"], plain["pool"]) == (None, None, None, "fallback")
