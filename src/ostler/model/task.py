"""The task: what a person wants."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from ostler.model.ids import TaskId

Weight = Literal["trivial", "small", "medium", "large", "greenfield"]
Priority = Literal["P0", "P1", "P2", "P3"]
WEIGHTS: tuple[Weight, ...] = get_args(Weight)
PRIORITIES: tuple[Priority, ...] = get_args(Priority)


class Task(Struct, frozen=True, omit_defaults=True):
    """What a person wants, as they said it."""

    title: str
    body: str = ""  # the description, Markdown
    id: TaskId = TaskId("")  # empty until it is added
    weight: Weight = "small"
    priority: Priority = "P2"
    role: str = "implementer"
    executor: str = ""  # empty: as the settings say
    model: str = ""  # empty: as the settings say
    phases: tuple[str, ...] = ()  # empty: those of its weight
    after: tuple[TaskId, ...] = ()  # tasks that must be completed before
    not_before: float | None = None  # seconds since the epoch
    feature: str = ""  # a slot pool of this name is used
    budget_usd: float | None = None  # none: as the settings say
