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
    "blocked": "ostler log {id}   and then   ostler resume {id} -m TEXT",
    "paused": "ostler resume {id}",
    "needs_review": "ostler diff {id}   and then   ostler approve {id}   or   ostler reject {id} -m TEXT",
    "revision": "ostler run {id}",
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

# What a task that is blocked needs, where the code says it.
_BLOCKED = {
    Code.GATE_REJECTED: "ostler log {id}   and then   ostler resume {id} -m TEXT   or   ostler approve {id}",
    Code.GATE_UNRUNNABLE: "make it run; then   ostler retry {id}   or   ostler approve {id}",
    Code.DEPENDENCY_FAILED: "ostler retry {first}   or, without it,   ostler resume {id}",
    Code.MERGE_CONFLICT: "ostler resume {id} -m TEXT   or, once it is solved on its branch, without -m",
}


def next_step(view: TaskView) -> str:
    """The commands to type, and what to put right before; empty when nothing is to be done."""
    step = _step(view)
    first = next(iter(view.waits_for), "")
    return step.format(id=view.id, first=first) if step != _DIFF or view.branch else ""


def _step(view: TaskView) -> str:
    if view.code and view.status in _RETRIED and view.code in _FIRST:
        return f"{_FIRST[view.code]}; then   ostler retry {{id}}"
    if view.code and view.status == "blocked" and view.code in _BLOCKED:
        return _BLOCKED[view.code]
    if view.status == "needs_review" and view.output_path:
        return f"read {view.output_path}; then   ostler approve {{id}}   or   ostler reject {{id}} -m TEXT"
    if view.status == "deferred" and view.resumes_at:
        return f"ostler run {{id}}   from {local_time_of(view.resumes_at)} on"
    if view.status == "pending" and view.waits_for:
        return "ostler run --all"
    return _BY_STATUS.get(view.status, "")
