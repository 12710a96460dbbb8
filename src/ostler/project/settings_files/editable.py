"""Which settings can be changed in the browser; every other one only in a terminal.

A setting that holds a command, a path, an environment, an address or a permission is never in this table, nor
one that protects the project, except the budgets: a higher one applies to open tasks after `ostler config
accept`, which is a command.
"""

from __future__ import annotations

from ostler.config.source import KeyPath

_ANY = "*"  # an index or a name of the user

EDITABLE: frozenset[tuple[str, ...]] = frozenset(
    {
        ("run", "jobs"),
        ("run", "timeout_seconds"),
        ("run", "idle_timeout_seconds"),
        ("run", "stop_after_failures"),
        ("budget", "task_usd"),
        ("budget", "day_usd"),
        ("budget", "on_exceed"),
        ("limits", "stop_at"),
        ("limits", "keep_for_me"),
        ("limits", "use_before_reset"),
        ("limits", "use_before_reset_seconds"),
        ("limits", "quiet_seconds"),
        ("limits", "rotate_accounts"),
        ("selection", "strategy"),
        ("selection", "force_fallback"),
        ("models", _ANY, "enabled"),
        ("models", _ANY, "cost_weight"),
        ("models", _ANY, "fallback"),
        ("models", _ANY, "timeout_seconds"),
        ("retry", "max_retries"),
        ("retry", "base_delay_seconds"),
        ("retry", "max_delay_seconds"),
        ("retry", "rate_limit_wait_seconds"),
        ("retry", "breaker_failures"),
        ("retry", "breaker_seconds"),
        ("retry", "budget_per_hour"),
        ("retry", "self_healing"),
        ("pools", _ANY, "size"),
        ("notify", _ANY, "on"),
        ("notify", _ANY, "timeout_seconds"),
    }
)


def is_editable(path: KeyPath) -> bool:
    """Return whether the browser may change a setting."""
    return any(_matches(path, pattern) for pattern in EDITABLE)


def _matches(path: KeyPath, pattern: tuple[str, ...]) -> bool:
    return len(path) == len(pattern) and all(
        wanted in (_ANY, part) for part, wanted in zip(path, pattern, strict=True)
    )
