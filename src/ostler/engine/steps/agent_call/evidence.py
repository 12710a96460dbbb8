"""Decides whether a successful call completes its phase (contract.md, "Evidence")."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code, WarningCode
from ostler.model.event import Verdict
from ostler.model.task import Weight
from ostler.prompt.completion import check_phase_completion
from ostler.prompt.report import AgentReport, ReportedStatus

_LONGEST_REASON = 1000  # characters; the whole answer is in the transcript


class CallVerdict(Struct, frozen=True):
    verdict: Verdict
    code: Code | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()


class Evidence(Struct, frozen=True):
    """The facts about a call and its workspace."""

    text: str
    prompt: str
    phase: str
    weight: Weight
    reports_status: bool  # the executor's final text can report a status
    changed: bool = False  # the workspace has changed since the task started
    structured: bool = False  # the answer matches ANSWER_SCHEMA
    is_document: bool = False  # the text is the result
    report: AgentReport | None = None  # from `ostler report` or the state file


def depends_on_changes(evidence: Evidence) -> bool:
    """Return whether the verdict depends on changes, which takes several git processes to find out."""
    return evaluate(replace(evidence, changed=True)) != evaluate(replace(evidence, changed=False))


_VERDICTS: dict[ReportedStatus, Verdict] = {
    "complete": "complete",
    "blocked": "blocked",
    "paused": "paused",
    "needs_review": "review",
}


def evaluate(evidence: Evidence) -> CallVerdict:
    """Return the verdict of the first evidence: report, structured answer, mark, changed files."""
    if evidence.report is not None:
        code = Code.AGENT_BLOCKED if evidence.report.status == "blocked" else None
        return CallVerdict(_VERDICTS[evidence.report.status], code, evidence.report.reason[:_LONGEST_REASON])
    if evidence.is_document:
        return CallVerdict("complete")
    mark = check_phase_completion(
        evidence.text, evidence.phase, evidence.prompt, structured=evidence.structured
    )
    if mark is not None and mark.kind == "blocked":
        return CallVerdict("blocked", Code.AGENT_BLOCKED, mark.reason[:_LONGEST_REASON])
    if mark is not None and mark.kind == "continue":
        return CallVerdict("continue")
    if mark is not None:
        return CallVerdict("complete")
    if evidence.changed and (evidence.weight == "trivial" or not evidence.reports_status):
        return CallVerdict("complete", warnings=(WarningCode.NO_MARK,))
    return CallVerdict("continue")
