"""The variables of a phase's prompt: their names, and their values for one call."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.task import Task
from ostler.prompt.completion import without_marks
from ostler.prompt.excerpt import both_ends
from ostler.prompt.place import Place
from ostler.prompt.retry import Retry, retry_feedback, retry_note

KNOWN = frozenset(
    {
        *("TASK_ID", "TASK_TITLE", "TASK_DESCRIPTION", "PHASE", "WEIGHT", "ITERATION"),
        *("WORKTREE_PATH", "TASK_BRANCH", "TARGET_BRANCH"),
        *("RESEARCH_CONTENT", "SPEC_CONTENT", "DESIGN_CONTENT"),
        *("REVIEW_ROUND", "REVIEW_FINDINGS", "VERIFICATION_RESULTS"),
        *("RETRY_CONTEXT", "RETRY_ATTEMPT", "RETRY_FROM_PHASE", "RETRY_REASON", "RETRY_FEEDBACK"),
    }
)

_HEAD_LENGTH, _TAIL_LENGTH = 40_000, 20_000  # characters; a runaway answer must not fill every later prompt


class Findings(Struct, frozen=True):
    """What the phases before this one left behind, in their own words."""

    research: str = ""
    spec: str = ""
    design: str = ""
    review: str = ""
    review_round: int = 0  # 0: nobody has reviewed yet
    verification: str = ""  # what the checks of earlier phases said


def build_template_vars(
    task: Task,
    phase: str,
    iteration: int = 1,
    retry: Retry | None = None,
    *,
    place: Place | None = None,
    findings: Findings | None = None,
) -> dict[str, str]:
    """A value for every known variable; empty where there is none."""
    return {
        "TASK_ID": task.id,
        "TASK_TITLE": task.title,
        "TASK_DESCRIPTION": task.body.strip(),
        "PHASE": phase,
        "WEIGHT": task.weight,
        "ITERATION": str(iteration),
        **_of_place(place),
        **_of_findings(findings or Findings()),
        **_of_retry(retry),
    }


def _of_place(place: Place | None) -> dict[str, str]:
    return {
        "WORKTREE_PATH": place.directory if place else "",
        "TASK_BRANCH": (place and place.branch) or "",
        "TARGET_BRANCH": (place and place.target) or "",
    }


def _of_findings(findings: Findings) -> dict[str, str]:
    return {
        "RESEARCH_CONTENT": _content(findings.research),
        "SPEC_CONTENT": _content(findings.spec),
        "DESIGN_CONTENT": _content(findings.design),
        "REVIEW_FINDINGS": _content(findings.review),
        "REVIEW_ROUND": str(findings.review_round or ""),
        "VERIFICATION_RESULTS": _content(findings.verification),
    }


def _of_retry(retry: Retry | None) -> dict[str, str]:
    return {
        "RETRY_CONTEXT": retry_note(retry) if retry else "",
        "RETRY_ATTEMPT": str(retry.attempt) if retry else "",
        "RETRY_FROM_PHASE": retry.phase if retry else "",
        "RETRY_REASON": retry.reason.strip() if retry else "",
        "RETRY_FEEDBACK": retry_feedback(retry) if retry else "",
    }


def _content(text: str) -> str:
    """Without the mark at its end: beside it, an agent's own would look like an echo."""
    return both_ends(without_marks(text).strip(), _HEAD_LENGTH, _TAIL_LENGTH)
