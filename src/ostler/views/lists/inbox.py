"""What waits for a person, with what a decision needs (ostler.inbox/1)."""

from __future__ import annotations

from msgspec import Struct, structs

from ostler.model.policy.needs import URGENT, Need
from ostler.views.accept import ConflictView
from ostler.views.lists.board import BoardRow, view_row
from ostler.views.result import ChangeSize, tick_gates
from ostler.views.task import TaskView


class InboxItem(BoardRow, frozen=True, kw_only=True):
    """A task that waits for a person."""

    kind: Need
    waiting_since: str
    summary: str = ""  # the agent's final words
    question: str = ""  # of the agent, if it waits for an answer
    conflict: ConflictView | None = None  # that blocks the task


class InboxCounts(Struct, frozen=True):
    """The number of tasks of each kind."""

    question: int = 0
    review: int = 0
    failed: int = 0
    paused: int = 0  # by a person; they wait for nothing

    @property
    def urgent(self) -> int:
        """How many tasks wait for a person."""
        return sum(getattr(self, kind) for kind in URGENT)


class InboxView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.inbox/1"
    items: tuple[InboxItem, ...]  # of each kind by priority, then the one that waits longest
    counts: InboxCounts
    next: dict[Need, str]  # cursor of the next page of each kind that has one
    position: int  # position of the feed before the tasks were read


def view_item(
    view: TaskView, kind: Need, waiting_since: str, summary: str, diffstat: ChangeSize | None
) -> InboxItem:
    """Return the item of a task."""
    row = view_row(view, None)
    return InboxItem(
        **structs.asdict(structs.replace(row, diffstat=diffstat, gates=tick_gates(view))),
        kind=kind,
        waiting_since=waiting_since,
        summary=summary,
        question=view.message if kind == "question" and not view.conflict else "",
        conflict=view.conflict,
    )
