"""Reads what waits for a person, in the order in which it should be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.errors import Code
from ostler.model.ids import TaskId
from ostler.model.policy.needs import Need
from ostler.model.rows import decode_state
from ostler.project.project import Project
from ostler.project.tasks.lists.change_sizes import ChangeSizes
from ostler.project.tasks.lists.summary import read_summary
from ostler.store.listing import ALL, InboxKey, TaskFilter
from ostler.views.lists.inbox import InboxCounts, InboxItem, view_item


class InboxPage(Struct, frozen=True):
    items: tuple[InboxItem, ...]
    counts: InboxCounts
    last: dict[Need, InboxKey]  # the last item of each kind that has more
    keys: dict[str, InboxKey]  # the place of each item, by its task
    position: int


class InboxFilter(Struct, frozen=True):
    """Which tasks to list, and from where on."""

    kinds: Sequence[Need]
    after: Mapping[Need, InboxKey]
    limit: int  # of each kind
    matching: TaskFilter = ALL


def read_inbox(project: Project, wanted: InboxFilter, sizes: ChangeSizes) -> InboxPage:
    """Return the tasks, with the number of all matching ones of each kind."""
    journal = project.journal
    position, limit = journal.position(), wanted.limit
    found: dict[Need, list[InboxKey]] = {
        kind: journal.listing.inbox(kind, wanted.after.get(kind), limit + 1, wanted.matching)
        for kind in wanted.kinds
    }
    shown: list[tuple[Need, InboxKey]] = [(kind, key) for kind, keys in found.items() for key in keys[:limit]]
    return InboxPage(
        items=_read_items(project, shown, sizes),
        counts=InboxCounts(**journal.listing.needs(wanted.matching)),
        last={kind: keys[limit - 1] for kind, keys in found.items() if len(keys) > limit},
        keys={key.id: key for _, key in shown},
        position=position,
    )


def _read_items(
    project: Project, shown: Sequence[tuple[Need, InboxKey]], sizes: ChangeSizes
) -> tuple[InboxItem, ...]:
    places: dict[TaskId, tuple[Need, InboxKey]] = {key.id: (kind, key) for kind, key in shown}
    rows = project.journal.named_rows([key.id for _, key in shown])
    states = [decode_state(row) for row in rows]
    measured = sizes.measure(project.repository() if rows else None, states)
    items: list[InboxItem] = []
    for listed, state, size in zip(project.views(rows), states, measured, strict=True):
        kind, key = places[state.task]
        # Only the records name the files with conflicts.
        view = project.show(state.task) if state.code is Code.MERGE_CONFLICT else listed
        summary = read_summary(state, project.layout)
        items.append(view_item(view, kind, format_rfc3339(key.since), summary, size))
    return tuple(items)
