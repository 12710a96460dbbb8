"""Rotation of accounts: whether a call may continue with another account of the same agent after a limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ostler.config.settings import ExecutorSettings
from ostler.executors.registry import find_section, resolve_type
from ostler.model.limits.limit import window_for
from ostler.model.policy.model_config import ModelConfig


def find_other_account(
    model: ModelConfig, limited: Iterable[ModelConfig], executors: Mapping[str, ExecutorSettings]
) -> ModelConfig | None:
    """Return the limited model of another account of the same agent, because of which a model is not used."""
    agent = _agent_of(model, executors)
    others = (one for one in limited if _agent_of(one, executors) == agent)
    return next((one for one in others if not is_same_account(one, model)), None)


def explain_rotation(other: ModelConfig) -> str:
    """Return why a model is not used at the limit of this one."""
    return f"not used at the limit of {other.name}: limits.rotate_accounts = false"


def is_same_account(one: ModelConfig, other: ModelConfig) -> bool:
    first, second = window_for(one), window_for(other)
    return (first.provider, first.account) == (second.provider, second.account)


def _agent_of(model: ModelConfig, executors: Mapping[str, ExecutorSettings]) -> tuple[str, str]:
    """Return what two accounts have in common: the type of agent, and its provider or program."""
    section, kind = find_section(model.executor, executors), resolve_type(model.executor, executors)
    more = {"model_api": section.provider, "acp": section.command, "command": section.command}
    return kind, more.get(kind, "")
