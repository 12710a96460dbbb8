"""Stacked pull requests: publishes one again when the pull request below it is merged."""

from __future__ import annotations

from msgspec import Struct

from ostler.clock import SystemClock
from ostler.engine.records import append_event
from ostler.errors import OstlerError
from ostler.git.publish.github import is_pull_request_merged
from ostler.model.event import RETARGET_REQUEST, TaskReopened
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.status import TaskStatus
from ostler.project.project import Project

_MARK = b'"published_into"'


class StackedPullRequest(Struct, frozen=True):
    """A completed task whose pull request has the branch of another task as its base."""

    task: TaskId
    below: TaskId
    below_url: str


def list_stacked(project: Project) -> list[StackedPullRequest]:
    """Return the completed tasks with a stacked pull request."""
    rows = [
        row for row in project.journal.rows() if row.status == TaskStatus.COMPLETED and _MARK in row.state
    ]
    states = {row.id: decode_state(row) for row in rows}
    return [
        StackedPullRequest(state.task, below.task, below.pr_url)
        for state in states.values()
        for below in (states.get(one.task) for one in state.predecessors)
        if below is not None and below.pr_url and state.pr_url and state.published_into == below.branch
    ]


def find_retargetable(stacked: list[StackedPullRequest]) -> tuple[list[StackedPullRequest], str]:
    """Return those whose lower pull request is merged on GitHub, and the error if GitHub did not answer."""
    try:
        return [one for one in stacked if is_pull_request_merged(one.below_url)], ""
    except OstlerError as error:
        return [], f"stacked pull requests were not checked: {error.message}"


def reopen_stacked(project: Project, merged: list[StackedPullRequest]) -> list[str]:
    """Reopen these tasks to publish them again, onto the target; return a message for each."""
    for one in merged:
        append_event(project.journal, one.task, TaskReopened(RETARGET_REQUEST), SystemClock.now())
    return [
        f"{one.below} is merged, so the pull request of {one.task} is published again: ostler run {one.task}"
        for one in merged
    ]
