"""The models of a pool and their availability (ostler.models/1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, to_builtins

from ostler.clock import format_rfc3339
from ostler.errors import Code, OstlerError, is_provider_limit
from ostler.model.limits.limit import Cooldown, Limit, windows_for
from ostler.model.limits.titles import label_of
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.store.queries.last_calls import LastCall
from ostler.views.agent_work.last_call import last_call_json
from ostler.views.limits import AccountView, WindowView, find_window

ModelState = Literal["ready", "limited", "down", "cooldown", "disabled", "not_installed", "unusable"]


class ModelStatus(Struct, frozen=True):
    """Whether a model can be used now, and why not."""

    state: ModelState = "ready"
    until: float | None = (
        None  # end of the limit or cooldown; if it has passed, the next call tries the model
    )
    failures: int = 0  # recent failures
    code: Code | None = None
    message: str = ""


class ProbeResult(Struct, frozen=True):
    """The result of a test call to a model."""

    ok: bool
    seconds: float
    code: Code | None = None
    message: str = ""


class ModelView(Struct, frozen=True):
    config: ModelConfig
    status: ModelStatus
    answer: ProbeResult | None = None  # None: not called
    last_call: LastCall | None = None  # of a task; None: none is recorded
    window: WindowView | None = None  # the fullest that counts its calls; None: nothing is reported


def view_models(
    pool: ModelPool,
    limits: Sequence[Limit],
    cooldowns: Sequence[Cooldown],
    unusable: Mapping[str, OstlerError],
    last_calls: Mapping[str, LastCall] | None = None,
    accounts: Sequence[AccountView] = (),
) -> list[ModelView]:
    """Return every model in the order of the settings; `unusable` maps executors to the reason."""
    by_id = {account.id: account for account in accounts}
    cooldowns = cooldowns if pool.has_cooldowns else ()
    return [
        ModelView(
            choice,
            find_model_status(choice, limits, cooldowns, unusable),
            last_call=(last_calls or {}).get(choice.name),
            window=find_window(choice, by_id),
        )
        for choice in pool.models
    ]


def find_model_status(
    model: ModelConfig,
    limits: Sequence[Limit],
    cooldowns: Sequence[Cooldown],
    unusable: Mapping[str, OstlerError],
) -> ModelStatus:
    """Return the first status that applies: disabled, unusable, limited or down, in cooldown, ready."""
    if not model.enabled:
        return ModelStatus("disabled")
    if (error := unusable.get(model.executor)) is not None:
        state = "not_installed" if error.code is Code.AGENT_NOT_FOUND else "unusable"
        return ModelStatus(state, code=error.code, message=error.hint or error.message)
    windows = windows_for(model)
    met = [limit for limit in limits if any(map(limit.window.applies_to, windows))]
    if met:
        last = max(met, key=lambda limit: limit.until)
        state = "limited" if is_provider_limit(last.code) else "down"
        return ModelStatus(state, last.until, code=last.code, message=last.message)
    cooldown = next((cooldown for cooldown in cooldowns if cooldown.model == model.name), None)
    if cooldown is None:
        return ModelStatus()
    return ModelStatus(
        "ready" if cooldown.until is None else "cooldown",
        cooldown.until,
        cooldown.failures,
        cooldown.code,
        cooldown.message,
    )


def as_json(view: ModelView) -> dict[str, Any]:
    config, now = view.config, view.status
    return {
        "name": config.name,
        "executor": config.executor,
        "model": config.model or None,
        "account": config.account or None,
        "login": label_of(config),
        "window": to_builtins(view.window),
        "cost_weight": config.cost_weight,
        "pool": pool_of(config),
        "state": now.state,
        "until": None if now.until is None else format_rfc3339(now.until),
        "failures": now.failures,
        "code": now.code,
        "message": now.message,
        "answer": to_builtins(view.answer),
        "last_call": last_call_json(view.last_call),
    }


def pool_of(model: ModelConfig) -> Literal["primary", "fallback"]:
    return "fallback" if model.fallback else "primary"
