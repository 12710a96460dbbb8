"""Filters, order and pages of the list of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.status import SPELLINGS, TaskStatus, read_status
from ostler.project.project import Project
from ostler.views.groups import GROUPS, group_of
from ostler.views.task import TaskView

StatusFlag = Literal["failed", "needs_you", "running"]
_ENDED = ("done", "ended")
_FLAGS: dict[StatusFlag, frozenset[TaskStatus]] = {
    "failed": frozenset({TaskStatus.FAILED, TaskStatus.QUARANTINED}),
    "needs_you": frozenset(status for status in TaskStatus if group_of(status) == "needs_you"),
    "running": frozenset({TaskStatus.IN_PROGRESS}),
}


class StatusFilter(Struct, frozen=True, kw_only=True):
    """Which tasks to list; an empty field selects all."""

    flags: tuple[StatusFlag, ...] = ()
    statuses: tuple[str, ...] = ()  # also older spellings
    since: str = ""  # changed since then: 2d, 18:30
    priority: str = ""
    feature: str = ""
    tag: str = ""
    text: str = ""  # somewhere in the id or the title
    archived: bool = False

    @property
    def is_active(self) -> bool:
        """Whether tasks that are not archived are left out."""
        return self != StatusFilter(archived=self.archived)


def filter_tasks(project: Project, views: Sequence[TaskView], wanted: StatusFilter) -> list[TaskView]:
    """Return the matching tasks in the given order; raise UsageError for an invalid status or time."""
    statuses = {parse_status(text) for text in wanted.statuses}.union(
        *(_FLAGS[flag] for flag in wanted.flags)
    )
    since = _parse_since(wanted.since)
    text = wanted.text.casefold()
    found = [
        view
        for view in views
        if (not statuses or view.status in statuses)
        and (not wanted.priority or view.priority == wanted.priority)
        and (text in view.id or text in view.title.casefold())
        and _changed_at(view) >= since
    ]
    return [view for view in found if _has_labels(project, view, wanted)]


def _parse_since(text: str) -> float:
    if not text:
        return 0.0
    from ostler.project.decisions.moments import parse_since  # noqa: PLC0415  (most lists have no start)

    return parse_since(text, "--since")


def parse_status(text: str) -> TaskStatus:
    """Return the status with this name or older spelling; raise UsageError with the nearest one."""
    try:
        return read_status(text)
    except ValueError:
        from ostler.config.expect import nearest  # noqa: PLC0415  (needed for an error message only)

        near = nearest(text, (*TaskStatus, *SPELLINGS))
        hint = f"did you mean {near}?" if near else f"use one of {', '.join(TaskStatus)}"
        raise UsageError(f"unknown status {text!r:.80}", hint) from None


def sort_for_reading(views: Sequence[TaskView]) -> list[TaskView]:
    """Return what needs a person first, then running and waiting tasks, then the ended ones, newest first."""
    return sorted(views, key=_reading_key)


def _reading_key(view: TaskView) -> tuple[int, float, str]:
    group = group_of(view.status)
    if group in _ENDED:
        return len(GROUPS), -_changed_at(view), view.id
    return GROUPS.index(group), datetime.fromisoformat(view.created_at).timestamp(), view.id


def _changed_at(view: TaskView) -> float:
    return datetime.fromisoformat(view.updated_at).timestamp()


def _has_labels(project: Project, view: TaskView, wanted: StatusFilter) -> bool:
    """Read the task itself only if its feature or tags are asked for: the list does not have them."""
    if not wanted.feature and not wanted.tag:
        return True
    task = project.task(TaskId(view.id))
    return (not wanted.feature or task.feature == wanted.feature) and (
        not wanted.tag or wanted.tag in task.tags
    )


class Page(Struct, frozen=True):
    """A part of a list."""

    tasks: Sequence[TaskView]
    number: int
    count: int  # of pages


def cut_page(views: Sequence[TaskView], number: int, limit: int | None) -> Page:
    """Return one page; all tasks without a limit. Raises UsageError for a page that does not exist."""
    if limit is None:
        return Page(views, 1, 1)
    count = max(1, -(-len(views) // limit))
    if number > count:
        pages = "is only 1 page" if count == 1 else f"are {count} pages"
        raise UsageError(f"no page {number}: there {pages}", f"ostler status --page {count}")
    return Page(views[(number - 1) * limit : number * limit], number, count)
