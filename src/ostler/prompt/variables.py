"""The variables of phase prompts and their values."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.task import Task
from ostler.prompt.completion import strip_final_mark
from ostler.prompt.excerpt import keep_both_ends
from ostler.prompt.retry import Retry, format_retry_note, shorten_retry_output

KNOWN = frozenset(
    {
        *("TASK_ID", "TASK_TITLE", "TASK_DESCRIPTION", "PHASE", "WEIGHT", "ITERATION"),
        *("WORKTREE_PATH", "TASK_BRANCH", "TARGET_BRANCH"),
        *("RESEARCH_CONTENT", "SPEC_CONTENT", "DESIGN_CONTENT"),
        *("REVIEW_ROUND", "REVIEW_FINDINGS", "VERIFICATION_RESULTS"),
        *("RETRY_CONTEXT", "RETRY_ATTEMPT", "RETRY_FROM_PHASE", "RETRY_REASON", "RETRY_FEEDBACK"),
    }
)

_HEAD_LENGTH, _TAIL_LENGTH = 40_000, 20_000  # characters; one long answer must not fill every later prompt


class WorkingDirectory(Struct, frozen=True):
    """The working directory of an agent, as its prompt states it."""

    directory: str
    branch: str | None = None
    target: str | None = None  # the branch on which the work is based


class EarlierResults(Struct, frozen=True):
    """The texts of earlier phases."""

    research: str = ""
    spec: str = ""
    design: str = ""
    review: str = ""
    review_round: int = 0  # 0: not reviewed yet
    verification: str = ""  # results of the checks of earlier phases


def build_template_vars(
    task: Task,
    phase: str,
    iteration: int = 1,
    retry: Retry | None = None,
    *,
    workdir: WorkingDirectory | None = None,
    results: EarlierResults | None = None,
) -> dict[str, str]:
    """Return a value for every variable; empty if there is none."""
    return {
        "TASK_ID": task.id,
        "TASK_TITLE": task.title,
        "TASK_DESCRIPTION": task.body.strip(),
        "PHASE": phase,
        "WEIGHT": task.weight,
        "ITERATION": str(iteration),
        **_list_workdir_vars(workdir),
        **_list_result_vars(results or EarlierResults()),
        **_list_retry_vars(retry, phase),
    }


def _list_workdir_vars(workdir: WorkingDirectory | None) -> dict[str, str]:
    return {
        "WORKTREE_PATH": workdir.directory if workdir else "",
        "TASK_BRANCH": (workdir and workdir.branch) or "",
        "TARGET_BRANCH": (workdir and workdir.target) or "",
    }


def _list_result_vars(results: EarlierResults) -> dict[str, str]:
    return {
        "RESEARCH_CONTENT": _shorten(results.research),
        "SPEC_CONTENT": _shorten(results.spec),
        "DESIGN_CONTENT": _shorten(results.design),
        "REVIEW_FINDINGS": _shorten(results.review),
        "REVIEW_ROUND": str(results.review_round or ""),
        "VERIFICATION_RESULTS": _shorten(results.verification),
    }


def _list_retry_vars(retry: Retry | None, phase: str) -> dict[str, str]:
    return {
        "RETRY_CONTEXT": format_retry_note(retry, phase) if retry else "",
        "RETRY_ATTEMPT": str(retry.attempt) if retry else "",
        "RETRY_FROM_PHASE": retry.phase if retry else "",
        "RETRY_REASON": retry.reason.strip() if retry else "",
        "RETRY_FEEDBACK": shorten_retry_output(retry) if retry else "",
    }


def _shorten(text: str) -> str:
    """Without its mark: the agent's own mark would be treated as an echo of it."""
    return keep_both_ends(strip_final_mark(text).strip(), _HEAD_LENGTH, _TAIL_LENGTH)
