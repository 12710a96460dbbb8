"""The tasks that `ostler watch` shows: read once, then updated with changes only."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import partial

from msgspec import Struct

from ostler.cli.terminal.run.activity import describe_activity, read_last_output, worktree_share
from ostler.cli.terminal.text import to_one_line
from ostler.cli.watch.handle_key import Row
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.policy.needs import NEEDS, Need
from ostler.model.status import TaskStatus
from ostler.project.limits import read_limits
from ostler.project.project import Project
from ostler.project.running.activity import describe_activity as find_activity
from ostler.store.spending import day_start
from ostler.views.agent_work.live import Live
from ostler.views.limits import summarize
from ostler.views.lists.groups import SECTIONS, Section, group_of
from ostler.views.lists.lanes import Lane
from ostler.views.task import TaskView

# How often to check whether the run of a task is still alive.
_CHECK_SECONDS = 1.0
_LIMITS_SECONDS = 2.0  # between two reads of the limits of accounts
_MOST_NEEDS = 10_000  # tasks of each need


class Totals(Struct, frozen=True):
    """The first line of the screen."""

    sections: dict[Section, int]
    done_today: int
    # None when no cost of today's attempts is known.
    usd_today: float | None


class Board:
    """Reads the journal of a running project; writes nothing."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._journal = project.journal
        self._spending = project.store.open_spending()
        self._version = self._journal.version()
        self._position = self._journal.position()
        self._rows: dict[TaskId, TaskRow] = {
            row.id: row for row in self._journal.rows() if row.archived_at is None
        }
        self._live = Live()
        self._lanes = self._live.lanes(self._journal)
        self._checked_at = 0.0
        self._limits_at = 0.0
        self._limits = ""  # accounts that are nearly used or closed, in one line
        self._start = ""  # the command to run the tasks, if no process does
        self._abandoned: frozenset[TaskId] = frozenset()
        self._views: dict[str, TaskView] = {}
        self.rows: list[Row] = []
        self.totals = Totals({}, 0, 0.0)
        self._sort()
        self._read_limits()

    def close(self) -> None:
        self._spending.close()

    def poll(self, force: bool = False) -> None:
        """Read the changes of other processes; with `force`, also those of this process."""
        version = self._journal.version()
        if version != self._version or force:
            self._version = version
            self._read_feed()
        elif time.monotonic() - self._checked_at >= _CHECK_SECONDS:
            self._checked_at = time.monotonic()
            if self._find_abandoned() != self._abandoned:
                self._sort()
        if time.monotonic() - self._limits_at >= _LIMITS_SECONDS:
            self._read_limits()

    @property
    def notice(self) -> str:
        """The line below the totals: the limits of accounts, or that no process runs the waiting tasks."""
        sections = self.totals.sections
        is_idle = self._start and sections.get("waiting") and not sections.get("running")
        idle = f"No process runs the waiting tasks.  Next: {self._start}" if is_idle else ""
        return self._limits or idle

    def lane(self, task: str) -> Lane | None:
        return self._lanes.get(task)

    def view(self, task: str) -> TaskView:
        """Return a task as `status` shows it, with the current cost of a running one."""
        if task not in self._views:
            row = self._rows[TaskId(task)]
            running = row.status == TaskStatus.IN_PROGRESS
            self._views[task] = self._project.show(row.id) if running else self._project.views([row])[0]
        return self._views[task]

    def describe_activity(self, lane: Lane, now: float) -> str:
        """Return what a running task is doing, with its progress."""
        layout = self._project.layout
        return describe_activity(lane, now, read_last_output(lane, layout), worktree_share(lane, layout))

    def _read_limits(self) -> None:
        self._limits_at = time.monotonic()
        now = time.time()
        self._limits = to_one_line(summarize(read_limits(os.environ, now).alerts, now))
        activity = find_activity(self._project, runs_tasks=False)
        self._start = activity.command if activity.is_active is False else ""

    def _read_feed(self) -> None:
        moved = False
        self._views.clear()
        self._lanes = self._live.lanes(self._journal)
        while lines := self._journal.feed(self._position):
            moved |= sum(self._reload_row(task) for task in {line.task for line in lines}) > 0
            self._position = lines[-1].position
        if moved:
            self._sort()

    def _reload_row(self, task: TaskId) -> bool:
        """Read a task again; return False when only notices were added."""
        row, current = self._journal.row(task), self._rows.get(task)
        if row is None or row.archived_at is not None:
            return self._rows.pop(task, None) is not None
        if current is not None and current.seq == row.seq:
            return False
        self._rows[task] = row
        return True

    def _sort(self) -> None:
        now = time.time()
        midnight = day_start(now)
        self._abandoned = self._find_abandoned()
        self._views.clear()
        places = self._read_inbox()
        rows: list[tuple[Section, TaskRow]] = [
            (self._section(row, places), row) for row in self._rows.values()
        ]
        rows.sort(key=partial(_sort_key, places))
        self.rows = [Row(row.id, row.status, section, row.title) for section, row in rows]
        done = sum(section == "done" and row.updated_at >= midnight for section, row in rows)
        counts: dict[Section, int] = {one: sum(one == section for section, _ in rows) for one in SECTIONS}
        spent = self._spending.spent_today(now)
        self.totals = Totals(counts, done, None if spent.unknown and not spent.usd else spent.usd)

    def _read_inbox(self) -> dict[str, tuple[Need, int]]:
        """Return what tasks need from a person, and their places in the order of the inbox."""
        listing = self._journal.listing
        found: dict[str, tuple[Need, int]] = {}
        for need in NEEDS:
            keys = listing.inbox(need, None, _MOST_NEEDS)
            found |= {key.id: (need, place) for place, key in enumerate(keys)}
        return found

    def _section(self, row: TaskRow, places: Mapping[str, tuple[Need, int]]) -> Section:
        if row.id in self._abandoned:
            return "waiting"
        if row.id in places:
            return places[row.id][0]
        group = group_of(row.status)
        return "paused" if group == "needs_you" else group

    def _in_progress(self) -> list[TaskId]:
        return [row.id for row in self._rows.values() if row.status == TaskStatus.IN_PROGRESS]

    def _find_abandoned(self) -> frozenset[TaskId]:
        """Return the tasks in progress whose run has died."""
        return frozenset(task for task in self._in_progress() if not self._project.is_claimed(task))


def _sort_key(
    places: Mapping[str, tuple[Need, int]], one: tuple[Section, TaskRow]
) -> tuple[int, float, str, float]:
    """Sort by section: as the inbox, running, waiting by due time, ended with the newest first."""
    section, row = one
    order = min(SECTIONS.index(section), SECTIONS.index("done"))
    if row.id in places:
        return order, places[row.id][1], "", 0.0
    if section in ("running", "waiting"):
        due = row.resumes_at or 0.0 if section == "waiting" else 0.0
        return order, due, row.priority, row.place[1]
    return order, 0.0, "", -row.updated_at
