"""What a task may cost."""

from __future__ import annotations

from collections.abc import Iterable

from ostler.model.event import Record, TaskCreated, TaskReopened


def allowance_of(records: Iterable[Record]) -> float | None:
    """The dollars that were last set aside for it; None: as the settings say."""
    usd = None
    for record in records:
        match record.event:
            case TaskCreated(task=task):
                usd = task.budget_usd
            case TaskReopened(budget_usd=more) if more is not None:
                usd = more
            case _:
                pass
    return usd
