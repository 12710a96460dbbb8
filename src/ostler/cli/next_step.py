"""What a person does next about a task, in one line."""

from __future__ import annotations

from ostler.cli.text import local_time_of
from ostler.errors import Code, Warn
from ostler.model.cure import CURES
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

_REFUSED = "ostler log {id}   shows what was refused; allow it, then   ostler resume {id}"
_RETRIED = ("failed", "quarantined", "paused")

# What a task that is blocked needs, where the code says it.
_BLOCKED = {
    Code.GATE_REJECTED: "ostler log {id}   and .ostler/tasks/{id}/gates   say why; then   "
    "ostler resume {id} -m TEXT   or   ostler approve {id}",
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
    if view.code is Code.AUTH_FAILED and view.status in _RETRIED and (login := _login(view)):
        return f"{login}   or a key; then   ostler retry {{id}}"
    if view.code and view.status in _RETRIED and _comes_first(CURES[view.code]):
        return f"{CURES[view.code]}; then   ostler retry {{id}}"
    if view.code and view.status == "blocked" and view.code in _BLOCKED:
        return _BLOCKED[view.code]
    if view.code is Code.ITERATION_LIMIT and view.status == "paused":
        return _REFUSED if Warn.PERMISSION_DENIED in view.warnings else _BY_STATUS["blocked"]
    if view.status == "needs_review" and view.output_path:
        return f"read {view.output_path}; then   ostler approve {{id}}   or   ostler reject {{id}} -m TEXT"
    if view.status == "deferred" and view.resumes_at:
        return f"ostler run {{id}}   from {local_time_of(view.resumes_at)} on"
    if view.status == "pending" and view.waits_for:
        return "ostler run --all"
    return _BY_STATUS.get(view.status, "")


def _comes_first(cure: str) -> bool:
    """Whether it is to be done before the task is tried again; others are a command for the task itself."""
    return " ID" not in cure and not cure.startswith("nothing")


def _login(view: TaskView) -> str:
    """What to type to log in to the agent that was refused last; empty: not known."""
    from ostler.executors.known import PROGRAMS  # noqa: PLC0415  (most tasks need no login)

    logins = {known.name: known.login for known in PROGRAMS}
    return logins.get(view.attempts[-1].executor, "") if view.attempts else ""
