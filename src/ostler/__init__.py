"""Run AI agents on tasks, unattended, and lose none of their work.

The public API is `Ostler`, `Task`, `Outcome`, `DiffStat`, `Code` and `OstlerError`. `ostler.executors` is the
API for executors, `ostler.compat` has the names of the systems that Ostler replaces. Names are imported on
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostler.lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ostler.errors import Code, OstlerError
    from ostler.model.outcome import DiffStat, Outcome
    from ostler.model.task import Task
    from ostler.project.ostler import Ostler

__all__ = ["Code", "DiffStat", "Ostler", "OstlerError", "Outcome", "Task", "__version__"]

__getattr__, __dir__ = lazy_names(
    "ostler",
    {
        "Code": "ostler.errors",
        "DiffStat": "ostler.model.outcome",
        "Ostler": "ostler.project.ostler",
        "OstlerError": "ostler.errors",
        "Outcome": "ostler.model.outcome",
        "Task": "ostler.model.task",
    },
)
