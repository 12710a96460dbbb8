"""The models of a pool and how each one stands (ostler.models/1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, to_builtins

from ostler.clock import rfc3339
from ostler.errors import Code, OstlerError
from ostler.model.choice import Choice, ModelPool
from ostler.model.limit import Limit, Rest, window_of

ModelState = Literal["ready", "limited", "resting", "disabled", "not_installed", "unusable"]


class Standing(Struct, frozen=True):
    """Whether a model can be used now, and why not."""

    state: ModelState = "ready"
    until: float | None = None  # limited or resting; one that is past: the next call tries it
    failures: int = 0  # lately, in a row or nearly
    code: Code | None = None
    message: str = ""


class Answer(Struct, frozen=True):
    """What became of a question that was put to a model."""

    ok: bool
    seconds: float
    code: Code | None = None
    message: str = ""


class ModelView(Struct, frozen=True):
    choice: Choice
    standing: Standing
    answer: Answer | None = None  # None: it was not asked


def view_models(
    pool: ModelPool,
    limits: Sequence[Limit],
    rests: Sequence[Rest],
    refused: Mapping[str, OstlerError],
) -> list[ModelView]:
    """Every model in the order of the settings; `refused` says of executors why they cannot be used."""
    return [ModelView(choice, standing(choice, limits, rests, refused)) for choice in pool.choices]


def standing(
    choice: Choice, limits: Sequence[Limit], rests: Sequence[Rest], refused: Mapping[str, OstlerError]
) -> Standing:
    """The first that applies of disabled, missing, limited, resting."""
    if not choice.enabled:
        return Standing("disabled")
    if (error := refused.get(choice.executor)) is not None:
        state = "not_installed" if error.code is Code.AGENT_NOT_FOUND else "unusable"
        return Standing(state, code=error.code, message=error.hint or error.message)
    met = [limit for limit in limits if limit.window.concerns(window_of(choice))]
    if met:
        last = max(met, key=lambda limit: limit.until)
        return Standing("limited", last.until, code=last.code, message=last.message)
    rest = next((rest for rest in rests if rest.choice == choice.name), None)
    if rest is None:
        return Standing()
    return Standing(
        "ready" if rest.until is None else "resting", rest.until, rest.failures, rest.code, rest.message
    )


def as_json(view: ModelView) -> dict[str, Any]:
    choice, now = view.choice, view.standing
    return {
        "name": choice.name,
        "executor": choice.executor,
        "model": choice.model or None,
        "account": choice.account or None,
        "cost_weight": choice.cost_weight,
        "pool": pool_of(choice),
        "state": now.state,
        "until": None if now.until is None else rfc3339(now.until),
        "failures": now.failures,
        "code": now.code,
        "message": now.message,
        "answer": to_builtins(view.answer),
    }


def pool_of(choice: Choice) -> Literal["primary", "fallback"]:
    return "fallback" if choice.fallback else "primary"
