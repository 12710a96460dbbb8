"""What a person does next about a task, in one line."""

from __future__ import annotations

from ostler.cli.text import local_time_of
from ostler.errors import Code
from ostler.views.task import TaskView

_DIFF = "ostler diff {id}"
_BY_STATUS = {
    "pending": "ostler run {id}",
    "in_progress": "ostler log {id} -f",
    "completed": _DIFF,
    "failed": "ostler log {id}   and then   ostler retry {id}",
    "quarantined": "ostler log {id}   and then   ostler retry {id}",
    "cancelled": "ostler retry {id}",
    "blocked": "ostler log {id}   and then   ostler retry {id}",
    "paused": "ostler log {id}   and then   ostler retry {id}",
    "deferred": "ostler run {id}   once it is due",
}

# What has to be put right first, where the code alone says it.
_FIRST = {
    Code.AGENT_NOT_FOUND: "ostler doctor shows which agents work here",
    Code.AGENT_INCOMPATIBLE: "ostler doctor shows the agent's version; update it or Ostler",
    Code.TIMEOUT: "raise run.timeout_seconds or make the task smaller",
    Code.IDLE_TIMEOUT: "raise run.idle_timeout_seconds if the agent needs long silences",
    Code.BILLING: "put the account at your provider in order",
    Code.AUTH_FAILED: "log in to the agent, or correct its key",
    Code.MODEL_NOT_FOUND: "correct the model's name",
    Code.NETWORK: "check the connection",
    Code.OVERLOADED: "wait a while",
    Code.PROMPT_TOO_LARGE: "shorten the task",
    Code.CONFIG_INVALID: "correct it",
    Code.CRASH_LOOP: "start the agent by hand to see why it dies",
    Code.MODELS_EXHAUSTED: "ostler models shows how each one stands",
    Code.SLOT_TIMEOUT: "raise the pool's size in [pools], or run fewer tasks at once",
    Code.SPAWN_FAILED: "close other programs, or run fewer tasks at once",
    Code.BUDGET_EXCEEDED: "raise [budget] in ostler.toml, or give more with --budget-usd",
}
_RETRIED = ("failed", "quarantined", "paused")


def next_step(view: TaskView) -> str:
    """The commands to type, and what to put right before; empty when nothing is to be done."""
    first = _FIRST.get(view.code) if view.code and view.status in _RETRIED else None
    if view.status == "deferred" and view.resumes_at:
        return f"ostler run {view.id}   from {local_time_of(view.resumes_at)} on"
    step = f"{first}; then   ostler retry {{id}}" if first else _BY_STATUS.get(view.status, "")
    return step.format(id=view.id) if step != _DIFF or view.branch else ""
