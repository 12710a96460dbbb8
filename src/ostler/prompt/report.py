"""An agent's report about its task outside its answer: `ostler report`, and its copy of the state file."""

from __future__ import annotations

from typing import Any, Literal, get_args

from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.status import TaskStatus, read_status

ReportedStatus = Literal["complete", "blocked", "paused", "needs_review"]
STATUSES: tuple[ReportedStatus, ...] = get_args(ReportedStatus)

_MAX_CHARACTERS = 1 << 16  # characters; Ostler writes a few hundred
_REPORTED_STATUSES: dict[TaskStatus, ReportedStatus] = {
    TaskStatus.COMPLETED: "complete",
    TaskStatus.BLOCKED: "blocked",
    TaskStatus.FAILED: "blocked",
    TaskStatus.ABANDONED: "blocked",
    TaskStatus.PAUSED: "paused",
    TaskStatus.NEEDS_REVIEW: "needs_review",
}
_WORKING_STATUSES = frozenset(
    {TaskStatus.PENDING, TaskStatus.ASSIGNED, TaskStatus.IN_PROGRESS, TaskStatus.REVISION}
)


class AgentReport(Struct, frozen=True):
    """A status that an agent reports for its task."""

    status: ReportedStatus
    reason: str = ""


class StateFileReport(Struct, frozen=True):
    """The report in a state file, or a warning about an invalid one."""

    report: AgentReport | None = None
    warning: str = ""


class _Unreadable(Exception):
    """Not a state file; the text states why."""


def parse_report(status: str, reason: str = "") -> AgentReport:
    """Return the report of `ostler report`; raises UsageError for a status that an agent cannot report."""
    report = _create_report(status, reason)
    if report is None:
        raise UsageError(
            f"invalid status {status!r:.80} for a report of an agent", f"use one of {', '.join(STATUSES)}"
        )
    return report


def parse_state_file(text: str) -> StateFileReport:
    """Return the report in an agent's copy of state.yaml; a status of work in progress is none."""
    try:
        fields = _read_top_fields(text)
    except _Unreadable as problem:
        return StateFileReport(warning=f"the agent's state file cannot be read: {problem}")
    status = fields.get("status", "")
    if (report := _create_report(status, fields.get("reason") or fields.get("message") or "")) is not None:
        return StateFileReport(report)
    if not status:
        return StateFileReport(warning="the agent's state file has no status")
    if _parse_status(status) in _WORKING_STATUSES:
        return StateFileReport()
    return StateFileReport(
        warning=f"the agent's state file has a status that an agent cannot report: {status!r:.80}"
    )


def _create_report(status: str, reason: str) -> AgentReport | None:
    reported = _REPORTED_STATUSES.get(found) if (found := _parse_status(status)) else None
    return AgentReport(reported, reason.strip()) if reported else None


def _parse_status(text: str) -> TaskStatus | None:
    plain = text.strip().lower().replace("-", "_").replace(" ", "_")
    if plain == "complete":
        return TaskStatus.COMPLETED
    try:
        return read_status(plain)
    except ValueError:
        return None


def _read_top_fields(text: str) -> dict[str, str]:
    """Return the scalar values at the top of a YAML document as written, without constructing objects."""
    from ostler.files.yaml import YamlInvalid, compose_yaml  # noqa: PLC0415  (few agents change their state file)

    if len(text) > _MAX_CHARACTERS:
        raise _Unreadable("it is larger than 64 KiB")
    try:
        root: Any = compose_yaml(text, "state.yaml")
    except YamlInvalid as error:
        raise _Unreadable(error.what) from None
    if getattr(root, "id", "") != "mapping":
        raise _Unreadable("it is not a mapping")
    return {key.value: _get_source_text(value) for key, value in root.value}


def _get_source_text(node: Any) -> str:
    return node.value if node.id == "scalar" and not node.tag.endswith(":null") else ""
