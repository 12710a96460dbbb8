"""All tasks as `ostler watch` knows them: read once, and from then on only what changed."""

from __future__ import annotations

import time

from msgspec import Struct

from ostler.cli.doing import doing, last_said, made_share
from ostler.cli.watching.press import Row
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.project.project import Project
from ostler.store.spending import Spending, day_start
from ostler.views.groups import GROUPS, Group, group_of
from ostler.views.lanes import Lane
from ostler.views.live import Live
from ostler.views.task import TaskView

_LOOK_SECONDS = 1.0  # between two looks at who still carries what runs


class Totals(Struct, frozen=True):
    """The first line of the screen."""

    groups: dict[Group, int]
    done_today: int
    usd_today: float | None  # none: something was asked, and nobody says what it cost


class Board:
    """Reads beside whoever works; writes nothing."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._journal = project.journal
        self._spending = Spending(project.layout.database)
        self._version = self._journal.version()
        self._position = self._journal.position()
        self._rows: dict[TaskId, TaskRow] = {row.id: row for row in self._journal.rows()}
        self._live = Live()
        self._lanes = self._live.lanes(self._journal)
        self._looked_at = 0.0
        self._dead: frozenset[TaskId] = frozenset()
        self._views: dict[str, TaskView] = {}
        self.rows: list[Row] = []
        self.totals = Totals({}, 0, 0.0)
        self._sort()

    def close(self) -> None:
        self._spending.close()

    def poll(self, at_once: bool = False) -> None:
        """Take in what others wrote since; `at_once` also what we wrote ourselves."""
        version = self._journal.version()
        if version != self._version or at_once:
            self._version = version
            self._read_on()
        elif time.monotonic() - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = time.monotonic()
            if self._died() != self._dead:
                self._sort()

    def lane(self, task: str) -> Lane | None:
        return self._lanes.get(task)

    def view(self, task: str) -> TaskView:
        """A task as `status` shows it; what a running one costs is up to date."""
        if task not in self._views:
            row = self._rows[TaskId(task)]
            running = row.status == TaskStatus.IN_PROGRESS
            self._views[task] = self._project.show(row.id) if running else self._project.views([row])[0]
        return self._views[task]

    def doing(self, lane: Lane, now: float) -> str:
        """What a running task does, and how far it is."""
        layout = self._project.layout
        return doing(lane, now, last_said(lane, layout), made_share(lane, layout))

    def _read_on(self) -> None:
        moved = False
        self._views.clear()
        self._lanes = self._live.lanes(self._journal)
        while lines := self._journal.feed(self._position):
            moved |= sum(self._take_row(task) for task in {line.task for line in lines}) > 0
            self._position = lines[-1].position
        if moved:
            self._sort()

    def _take_row(self, task: TaskId) -> bool:
        """Read it again; False where nothing but notices came."""
        row, known = self._journal.row(task), self._rows.get(task)
        if row is None or (known is not None and known.seq == row.seq):
            return False
        self._rows[task] = row
        return True

    def _sort(self) -> None:
        now = time.time()
        midnight = day_start(now)
        self._dead = self._died()
        self._views.clear()
        rows: list[tuple[Group, TaskRow]] = [(self._group(row), row) for row in self._rows.values()]
        rows.sort(key=_place)
        self.rows = [Row(row.id, row.status, group, row.title) for group, row in rows]
        done = sum(group == "done" and row.updated_at >= midnight for group, row in rows)
        counts: dict[Group, int] = {group: sum(one == group for one, _ in rows) for group in GROUPS}
        spent = self._spending.spent_today(now)
        self.totals = Totals(counts, done, None if spent.unknown and not spent.usd else spent.usd)

    def _group(self, row: TaskRow) -> Group:
        return "waiting" if row.id in self._dead else group_of(row.status)

    def _in_progress(self) -> list[TaskId]:
        return [row.id for row in self._rows.values() if row.status == TaskStatus.IN_PROGRESS]

    def _died(self) -> frozenset[TaskId]:
        """Those that read in progress, but nobody carries: their run is gone."""
        return frozenset(task for task in self._in_progress() if not self._project.in_hand(task))


def _place(one: tuple[Group, TaskRow]) -> tuple[int, float, str, float]:
    """What needs a person comes first; then what runs, what is due next, and the newest end."""
    group, row = one
    order = min(GROUPS.index(group), GROUPS.index("done"))
    if group in ("running", "waiting"):
        due = row.resumes_at or 0.0 if group == "waiting" else 0.0
        return order, due, row.priority, row.created_at
    return order, 0.0, "", -row.updated_at
