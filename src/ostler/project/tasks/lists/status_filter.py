"""Filters, order and pages of the list of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.policy.needs import URGENT
from ostler.model.status import EXECUTABLE, SPELLINGS, TaskStatus, read_status
from ostler.project.project import Project
from ostler.store.listing import TaskFilter
from ostler.store.queries.task_counts import add_up
from ostler.views.lists.groups import SECTIONS
from ostler.views.task import TaskView, section_of_view

StatusFlag = Literal["failed", "needs_you", "running"]
_ENDED = ("done", "ended")
_FLAGS: dict[str, frozenset[TaskStatus]] = {
    "failed": frozenset({TaskStatus.FAILED, TaskStatus.QUARANTINED}),
    "running": frozenset({TaskStatus.IN_PROGRESS}),
}
_S = TaskStatus
_FIRST = (_S.BLOCKED, _S.NEEDS_REVIEW, _S.FAILED, _S.QUARANTINED, _S.IN_PROGRESS)
_LISTED_STATUSES = (*_FIRST, *(status for status in _S if status not in _FIRST))


class StatusFilter(Struct, frozen=True, kw_only=True):
    """Which tasks to list; an empty field selects all."""

    flags: tuple[StatusFlag, ...] = ()
    statuses: tuple[str, ...] = ()  # also older spellings
    since: str = ""  # changed since then: 2d, 18:30
    priority: str = ""
    feature: str = ""
    label: str = ""
    tag: str = ""
    text: str = ""  # somewhere in the id or the title
    archived: bool = False

    @property
    def reads_tasks(self) -> bool:
        """Whether each task must be read, because no index has what is asked for."""
        return bool(self.text or self.feature or self.label or self.tag)

    @property
    def is_active(self) -> bool:
        """Whether tasks that are not archived are left out."""
        return self != StatusFilter(archived=self.archived)


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
        from ostler.config.checks.expect import nearest  # noqa: PLC0415  (needed for an error message only)

        near = nearest(text, (*TaskStatus, *SPELLINGS))
        hint = f"did you mean {near}?" if near else f"use one of {', '.join(TaskStatus)}"
        raise UsageError(f"unknown status {text!r:.80}", hint) from None


class StatusPage(Struct, frozen=True):
    """A part of the matching tasks."""

    tasks: list[TaskView]
    number: int
    pages: int
    counts: dict[str, int]  # of all matching tasks, by status
    known: int  # all tasks of the project, or all archived ones

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def read_status_page(
    project: Project, wanted: StatusFilter, number: int = 1, limit: int | None = None
) -> StatusPage:
    """Return one page in reading order; without a limit all matching tasks.

    Raises UsageError for an invalid status or time, or a page that does not exist.
    """
    listing = project.journal.listing
    matching = _to_filter(project, wanted)
    if wanted.reads_tasks:
        rows = _find_rows(project, matching, wanted)
        counts = _count_rows(rows, matching)
    else:
        rows, counts = None, listing.counts(matching)
    total = sum(counts.values())
    size = min(limit or total, total) or 1
    pages = max(1, -(-total // size))
    if number > pages:
        there = "is only 1 page" if pages == 1 else f"are {pages} pages"
        raise UsageError(f"no page {number}: there {there}", f"ostler status --page {pages}")
    first = (number - 1) * size
    if rows is None:
        rows = project.journal.named_rows(listing.in_reading_order(matching, first + size)[first:])
    else:
        rows = rows[first : first + size]
    known = sum(listing.counts(TaskFilter(archived=wanted.archived)).values())
    # Tasks that a dead run left behind were found among the running ones.
    views = sorted(project.views(rows), key=_section_number)
    return StatusPage(views, number, pages, _sort_counts(counts), known)


def _to_filter(project: Project, wanted: StatusFilter) -> TaskFilter:
    statuses = {parse_status(text) for text in wanted.statuses}.union(
        *(_FLAGS.get(flag, ()) for flag in wanted.flags)
    )
    return TaskFilter(
        statuses=tuple(sorted(statuses)),
        needs=URGENT if "needs_you" in wanted.flags else (),
        without_owner=find_left(project),
        priority=wanted.priority,
        archived=wanted.archived,
        since=_parse_since(wanted.since),
    )


def find_left(project: Project) -> tuple[TaskId, ...]:
    """Return the tasks in progress that no run has claimed."""
    return tuple(task for task in project.journal.listing.running() if not project.is_claimed(task))


def list_ready(project: Project, limit: int) -> list[TaskRow]:
    """Return the first tasks that a run may start, in the order in which it starts them."""
    listing, found = project.journal.listing, list[TaskRow]()
    for priority in sorted(listing.waiting()):
        rows = project.journal.named_rows(listing.queue(priority, limit))
        found += [row for row in rows if row.status in EXECUTABLE]
    return found[:limit]


def _find_rows(project: Project, matching: TaskFilter, wanted: StatusFilter) -> list[TaskRow]:
    """Return the matching rows, of which each is read; text is compared in all alphabets."""
    text = wanted.text.casefold()
    rows = project.journal.named_rows(project.journal.listing.in_reading_order(matching))
    found = [row for row in rows if text in row.id or text in row.title.casefold()]
    return [row for row in found if _has_labels(project, row, wanted)]


def _count_rows(rows: Sequence[TaskRow], matching: TaskFilter) -> dict[str, int]:
    return add_up((TaskStatus.PENDING if row.id in matching.without_owner else row.status, 1) for row in rows)


def _sort_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts in the order in which the list shows the statuses."""
    return {status: counts[status] for status in _LISTED_STATUSES if counts.get(status)}


def _section_number(view: TaskView) -> int:
    section = section_of_view(view)
    return len(SECTIONS) if section in _ENDED else SECTIONS.index(section)


def _has_labels(project: Project, row: TaskRow, wanted: StatusFilter) -> bool:
    """Read the task itself only if a field is asked for that the list does not have."""
    if not (wanted.feature or wanted.label or wanted.tag):
        return True
    task = project.task(row.id)
    return (
        (not wanted.feature or task.feature == wanted.feature)
        and (not wanted.label or task.label == wanted.label)
        and (not wanted.tag or wanted.tag in task.tags)
    )
