"""How the work of a task reaches another host; a project on one machine has none of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ostler.config.settings import Settings

if TYPE_CHECKING:
    from ostler.blobs.blobs import Blobs


class TaskMover(Struct, frozen=True):
    """Where the work of tasks is kept for other hosts."""

    remote: str  # name of the git remote
    blobs: Blobs | None = None  # where the sessions of agents are kept; None: they stay on their host


def create_mover(settings: Settings, environ: Mapping[str, str]) -> TaskMover | None:
    """Return the mover of [engine] and [blobs]; None where tasks stay, or all hosts share the files."""
    if not settings.engine.moves_tasks:
        return None
    from ostler.blobs.opening import open_blobs  # noqa: PLC0415  (a project on one machine has no blobs)

    return TaskMover(settings.engine.remote, open_blobs(settings.blobs, environ))
