"""The tasks whose work another task starts from."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.ids import TaskId


class Predecessor(Struct, frozen=True, omit_defaults=True):
    """A task and the commit of it that another task contains."""

    task: TaskId
    commit: str
    merged: bool = False  # the target contained it when the other task started
