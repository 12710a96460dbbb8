"""The state of a pull request on GitHub, with its checks."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from ostler.git.publish.gh import GhError, run_gh

CheckState = Literal["passed", "failed", "running", "skipped"]
PullState = Literal["open", "draft", "merged", "closed"]

# What GitHub calls the end of a check run, or the state of a commit status; a check without either runs.
_STATES: dict[str, CheckState] = {
    "SUCCESS": "passed",
    "NEUTRAL": "passed",
    "SKIPPED": "skipped",
    "STALE": "skipped",
    "FAILURE": "failed",
    "ERROR": "failed",
    "CANCELLED": "failed",
    "TIMED_OUT": "failed",
    "ACTION_REQUIRED": "failed",
    "STARTUP_FAILURE": "failed",
}


class PullCheck(Struct, frozen=True):
    """One check of the head commit."""

    name: str
    state: CheckState


class PullRequestState(Struct, frozen=True):
    """A pull request as GitHub shows it."""

    state: PullState
    checks: tuple[PullCheck, ...] = ()


class _Check(Struct, rename="camel"):
    """A check run has a name and a conclusion, a commit status a context and a state."""

    name: str = ""
    context: str = ""
    conclusion: str = ""
    state: str = ""


class _Answer(Struct, rename="camel"):
    state: str = "OPEN"
    is_draft: bool = False
    status_check_rollup: list[_Check] | None = None


def read_pull_state(url: str) -> PullRequestState:
    """Ask GitHub for a pull request. Raises GhError."""
    output = run_gh("pr", "view", url, "--json=state,isDraft,statusCheckRollup")
    try:
        answer = msgspec.json.decode(output, type=_Answer)
    except msgspec.MsgspecError as error:
        message = f"gh described {url} in an unknown form: {error}"
        raise GhError(message, "update gh: https://cli.github.com") from None
    checks = tuple(
        PullCheck(one.name or one.context, _STATES.get(one.conclusion or one.state, "running"))
        for one in answer.status_check_rollup or ()
    )
    return PullRequestState(_find_state(answer), checks)


def _find_state(answer: _Answer) -> PullState:
    if answer.state == "OPEN":
        return "draft" if answer.is_draft else "open"
    return "merged" if answer.state == "MERGED" else "closed"
