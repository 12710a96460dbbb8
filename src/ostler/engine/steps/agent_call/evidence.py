"""Decides whether a successful call completes its phase (contract.md, "Evidence")."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code, WarningCode
from ostler.model.event import Verdict
from ostler.model.task import Weight
from ostler.prompt.answer import Mark
from ostler.prompt.completion import check_phase_completion, read_document_mark, strip_final_mark
from ostler.prompt.question import find_question
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
    """Return the verdict of the first evidence: report, structured answer, mark, question, changed files."""
    if evidence.report is not None:
        code = Code.AGENT_BLOCKED if evidence.report.status == "blocked" else None
        return CallVerdict(_VERDICTS[evidence.report.status], code, evidence.report.reason[:_LONGEST_REASON])
    if evidence.is_document:
        return _evaluate_document(evidence.text)
    mark = check_phase_completion(
        evidence.text, evidence.phase, evidence.prompt, structured=evidence.structured
    )
    if mark is not None and mark.kind == "blocked":
        return _block(mark)
    if mark is not None and mark.kind == "complete":
        return CallVerdict("complete")
    if question := find_question(evidence.text if mark is None else mark.summary):
        return CallVerdict("blocked", Code.NEEDS_INPUT, question)
    changed = evidence.changed and mark is None
    if changed and (evidence.weight == "trivial" or not evidence.reports_status):
        return CallVerdict("complete", warnings=(WarningCode.NO_MARK,))
    return CallVerdict("continue")


def _evaluate_document(text: str) -> CallVerdict:
    """A document is complete with any text, which may end in a question; a mark alone is no document."""
    mark = read_document_mark(text)
    if mark is not None and mark.kind == "blocked":
        return _block(mark)
    return CallVerdict("complete" if strip_final_mark(text).strip() else "continue")


def _block(mark: Mark) -> CallVerdict:
    return CallVerdict("blocked", Code.AGENT_BLOCKED, mark.reason[:_LONGEST_REASON])


def repeats(answer: str, last_answer: str) -> bool:
    """Return whether two answers are the same apart from white space."""
    return bool(answer.strip()) and answer.split() == last_answer.split()


def block_repetition(answer: str) -> CallVerdict:
    """Return the verdict on an agent that gives the same answer again and changes nothing."""
    last = next((part for part in reversed(strip_final_mark(answer).split("\n\n")) if part.strip()), answer)
    message = f"the agent gave the same answer twice and changed nothing: {last.strip()}"
    return CallVerdict("blocked", Code.NEEDS_INPUT, message[:_LONGEST_REASON])
