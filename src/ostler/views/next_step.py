"""What a person can do next about a task: one answer for the CLI, the API, MCP and notifications."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct

from ostler.clock import format_local_time
from ostler.errors import Code, WarningCode, needs_account_fix
from ostler.model.fix import FIXES, find_prerequisite
from ostler.model.plan import GateType
from ostler.model.state import GateObstacle
from ostler.model.status import EXECUTABLE, TERMINAL, TaskStatus
from ostler.views.task import GateView, PhaseView, TaskView

Asks = Literal["approve", "reply", "resume", "retry"]
"""The decision that a person can make with one button."""

_S = TaskStatus
_DECIDE = "   ostler approve {id}   or   ostler reject {id} -m TEXT"
_STEPS: dict[TaskStatus, str] = {
    _S.PENDING: "ostler run {id}",
    _S.ASSIGNED: "ostler run {id}",
    _S.REVISION: "ostler run {id}",
    _S.IN_PROGRESS: "ostler log {id} -f",
    _S.COMPLETED: "ostler diff {id}",
    _S.FAILED: "ostler log {id}   and then   ostler retry {id}",
    _S.QUARANTINED: "ostler log {id}   and then   ostler retry {id}",
    _S.CANCELLED: "ostler retry {id}",
    _S.ABANDONED: "ostler retry {id}",
    _S.BLOCKED: "ostler log {id}   and then   ostler resume {id} -m TEXT",
    _S.PAUSED: "ostler resume {id}   with -m TEXT to answer",
    _S.NEEDS_REVIEW: f"ostler review {{id}}   or{_DECIDE}",
    _S.DEFERRED: "ostler run {id}   when the limit ends",
}
_ASKS: dict[TaskStatus, Asks] = {
    _S.NEEDS_REVIEW: "approve",
    _S.BLOCKED: "reply",
    _S.PAUSED: "resume",
    _S.FAILED: "retry",
    _S.QUARANTINED: "retry",
    _S.CANCELLED: "retry",
    _S.ABANDONED: "retry",
}
# Codes for which the status alone does not determine the step.
_BLOCKED: dict[Code, tuple[str, Asks]] = {
    Code.GATE_REJECTED: (
        "ostler log {id}   and .ostler/tasks/{id}/gates   show why; then   "
        "ostler resume {id} -m TEXT   or   ostler approve {id}",
        "approve",
    ),
    Code.GATE_UNRUNNABLE: (
        "fix the gate's command; then   ostler config accept   and   ostler retry {id}"
        "   or   ostler approve {id}",
        "approve",
    ),
    Code.DEPENDENCY_FAILED: ("ostler retry {first}   or, without it,   ostler resume {id}", "resume"),
    Code.MERGE_CONFLICT: (
        "ostler resume {id} -m TEXT   or, once the conflict is resolved on its branch, without -m",
        "reply",
    ),
}
# GATE_REJECTED: what shows why, for gates without the output of a command
_REJECTED: dict[GateType, str] = {
    "ai": "ostler log {id}   shows the findings; then   ostler resume {id} -m TEXT   or   "
    "ostler approve {id}",
    "human": "ostler diff {id}   and then   ostler approve {id}   or   ostler resume {id} -m TEXT",
}
# Phases whose result is their answer, which no diff contains.
_TEXT_PHASES = frozenset({"research", "spec", "design", "review"})
_ACCEPT = "ostler config accept"
# Of a file in the directory of the task that a person changed.
_CHANGED_FILE = "correct or delete the file that the reason names; then   ostler resume {id}"
_RUN_GATE_AGAIN = "   ostler resume {id}   or   ostler approve {id}"
# GATE_UNRUNNABLE: what prevented the command, and what removes that
_OBSTACLES: dict[GateObstacle, str] = {
    "missing program": "install the program, add it to [workspace] link, or correct the gate's command "
    "(and   ostler config accept); then",
    "isolation": "ostler doctor   shows what the isolation of gates needs; then",
    "timeout": "raise gates.timeout_seconds (of a check: gates.checks.NAME.timeout_seconds), or make the "
    "command faster; then",
    "network": "check the connection; then",
    "killed": "free memory, or find what killed the gate's command; then",
    "refused": "allow what the sandbox refused with the setting that   ostler show {id}   names, then   "
    "ostler config accept   and",
    "reviewer": "ostler log {id}   shows the reviewer's answer; to ask again, or to decide yourself:",
    "setup": "correct [workspace] in ostler.toml; then   ostler config accept   and",
}
_PERMISSION_DENIED = "ostler log {id}   shows what was denied; allow it, then   ostler resume {id}"
_RAISE_BUDGET = ", or raise budget.day_usd; then   ostler config accept   and   ostler run {id}"
_NO_PROGRESS = (Code.ITERATION_LIMIT, Code.NEEDS_INPUT)
_RETRIED_AFTER_FIX = (_S.FAILED, _S.QUARANTINED, _S.PAUSED)


class Situation(Struct, frozen=True, kw_only=True):
    """What the advice depends on; a view has all of it, an event only a part."""

    id: str
    status: TaskStatus
    code: Code | None = None
    branch: str | None = None
    output_path: str | None = None
    resumes_at: str | None = None
    warnings: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    not_before: str | None = None
    held: bool = False
    cancel_requested: bool = False
    login_command: str | None = None
    obstacle: GateObstacle | None = None
    pending_settings: tuple[str, ...] = ()
    purged_at: str | None = None
    phase: str = ""
    phases: tuple[PhaseView, ...] = ()

    @property
    def gate(self) -> GateView | None:
        """The gate of the current phase."""
        return next((one.gate for one in self.phases if one.id == self.phase), None)


class Advice(Struct, frozen=True):
    """The commands to type, and the decision that a button offers; both may be empty."""

    text: str
    asks: Asks | None = None


def situation_of(view: TaskView) -> Situation:
    """Return what the advice for a task depends on."""
    return Situation(
        id=view.id,
        status=view.status,
        code=view.code,
        branch=view.branch,
        output_path=view.output_path,
        resumes_at=view.resumes_at,
        warnings=view.warnings,
        waits_for=view.waits_for,
        not_before=view.not_before,
        held=view.held,
        cancel_requested=view.cancel_requested,
        login_command=view.login_command,
        obstacle=view.obstacle,
        pending_settings=view.pending_settings,
        purged_at=view.purged_at,
        phase=view.phase,
        phases=view.phases,
    )


def situation_in(document: Mapping[str, object]) -> Situation:
    """Return the same from a task as JSON (ostler.task/1)."""
    fields = {name: document[name] for name in Situation.__struct_fields__ if name in document}
    return msgspec.convert(fields, Situation)


def advise(task: Situation) -> Advice:
    """Return what a person can do about a task."""
    text, asks = _find(task)
    if task.pending_settings and _ACCEPT not in text:
        text = f"{_ACCEPT}   uses the changed settings; then   {text}"
    first = next(iter(task.waits_for), "ID")
    return Advice(text.format(id=task.id, first=first, phase=task.phase), asks)


def next_step(view: TaskView) -> str:
    """Return the commands to type for a task, after what to fix first; empty when nothing is to be done."""
    step = advise(situation_of(view)).text
    return f"{step}   when the window allows it" if step and view.hold else step


def _find(task: Situation) -> tuple[str, Asks | None]:
    status, code = task.status, task.code
    if task.purged_at:
        return "", None
    if task.cancel_requested and status not in TERMINAL and status is not _S.IN_PROGRESS:
        return "ostler run {id}   ends it", None
    asks = _ASKS.get(status)
    if code is Code.GATE_UNRUNNABLE and status is _S.BLOCKED and task.obstacle:
        return _OBSTACLES[task.obstacle] + _RUN_GATE_AGAIN, "approve"
    if code is Code.TASK_NOT_EXECUTABLE and status is _S.BLOCKED:
        return _CHANGED_FILE, "resume"
    if code is Code.GATE_REJECTED and status is _S.BLOCKED and (text := _describe_rejection(task)):
        return text, "approve"
    if code and status is _S.BLOCKED and code in _BLOCKED:
        return _BLOCKED[code]
    if code in _NO_PROGRESS and WarningCode.PERMISSION_DENIED in task.warnings:
        return _PERMISSION_DENIED, asks
    if status is _S.PAUSED and code is Code.ITERATION_LIMIT:
        return _STEPS[_S.BLOCKED], asks
    if code is Code.AUTH_FAILED and status is _S.PENDING:
        return f"{_describe_login(task)}; then   ostler run {{id}}", asks
    if code is Code.AUTH_FAILED and status in _RETRIED_AFTER_FIX:
        return f"{_describe_login(task)}; then   ostler retry {{id}}", "retry"
    if code is Code.BUDGET_EXCEEDED and status in _RETRIED_AFTER_FIX:
        # It also replaces a budget of the settings.
        return "ostler retry {id} --budget-usd USD", "retry"
    if code and status in _RETRIED_AFTER_FIX and (fix := find_prerequisite(code)):
        return f"{fix}; then   ostler retry {{id}}", "retry"
    if task.held:
        return "ostler approve {id}   to let it start, or   ostler reject {id} -m TEXT", asks
    if status is _S.NEEDS_REVIEW and WarningCode.NO_CHANGES in task.warnings:
        return f"ostler log {{id}}   shows why nothing changed; then{_DECIDE}", asks
    if status is _S.NEEDS_REVIEW and task.output_path:
        return f"read {task.output_path}; then{_DECIDE}", asks
    if status is _S.NEEDS_REVIEW and task.phase in _TEXT_PHASES and _asks_person(task.gate):
        return f"ostler log {{id}}   shows the answer of {{phase}}; then{_DECIDE}", asks
    if status is _S.DEFERRED and task.resumes_at:
        more = _RAISE_BUDGET if code is Code.BUDGET_EXCEEDED else ""
        return f"ostler run {{id}}   from {_format_local(task.resumes_at)} on{more}", asks
    if code and status in EXECUTABLE and needs_account_fix(code):
        return f"{FIXES[code]}; then   ostler run {{id}}", asks
    if status is _S.PENDING and task.waits_for:
        return "ostler run --all", asks
    if status is _S.PENDING and task.not_before and _seconds(task.not_before) > time.time():
        start = _format_local(task.not_before)
        return f"ostler run {{id}}   from {start} on   or   ostler set {{id}} not_before=", asks
    if status is _S.COMPLETED and task.branch is None:
        return (f"read {task.output_path}" if task.output_path else ""), asks
    return _STEPS.get(status, ""), asks


def _asks_person(gate: GateView | None) -> bool:
    return gate is not None and gate.type == "human" and gate.verdict == "pending"


def _describe_rejection(task: Situation) -> str:
    """Return the step after a rejection that is about the current phase; empty: any other one."""
    gate = task.gate
    if gate is None or gate.verdict not in ("fail", "pending") or gate.check is not None:
        return ""
    if gate.type == "human" and task.phase in _TEXT_PHASES:
        return _REJECTED["ai"].replace("findings", "answer of {phase}")
    return _REJECTED.get(gate.type, "")


def _describe_login(task: Situation) -> str:
    command = task.login_command
    return f"{command}   or correct its key" if command else FIXES[Code.AUTH_FAILED]


def _format_local(rfc3339: str) -> str:
    return format_local_time(_seconds(rfc3339), time.time())


def _seconds(rfc3339: str) -> float:
    return datetime.fromisoformat(rfc3339).timestamp()
