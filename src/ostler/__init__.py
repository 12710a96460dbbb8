"""Ostler runs AI agents on tasks, unattended, and never loses one.

The public names are loaded on first use, so that `import ostler` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ostler.errors import Code, OstlerError
    from ostler.model.outcome import Outcome
    from ostler.model.task import Task
    from ostler.project.ostler import Ostler

__all__ = ["Code", "Ostler", "OstlerError", "Outcome", "Task", "__version__"]

_HOMES = {
    "Code": "ostler.errors",
    "OstlerError": "ostler.errors",
    "Outcome": "ostler.model.outcome",
    "Task": "ostler.model.task",
    "Ostler": "ostler.project.ostler",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ostler' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
