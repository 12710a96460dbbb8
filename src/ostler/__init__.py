"""Run AI agents on tasks, unattended, and lose none of their work.

The public API is `Ostler`, `Task`, `Outcome`, `DiffStat`, `ReviewComment`, `Code` and `OstlerError`.
`CliExecutor` makes calls without a project; `ModelSelector`, `WorkerPoolManager` and `create_spawner` are
parts that it accepts. `ostler.executors` is the API for executors, `ostler.compat` has the names of the
systems that Ostler replaces. Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostler.lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ostler.calls.cli_executor import CliExecutor
    from ostler.calls.models.selector import ModelSelector
    from ostler.calls.models.slots import WorkerPoolManager
    from ostler.errors import Code, OstlerError
    from ostler.model.outcome import DiffStat, Outcome
    from ostler.model.task import Task
    from ostler.process.spawner import create_spawner
    from ostler.project.ostler import Ostler
    from ostler.project.reviews.new_comment import ReviewComment

__all__ = [
    "CliExecutor",
    "Code",
    "DiffStat",
    "ModelSelector",
    "Ostler",
    "OstlerError",
    "Outcome",
    "ReviewComment",
    "Task",
    "WorkerPoolManager",
    "__version__",
    "create_spawner",
]

__getattr__, __dir__ = lazy_names(
    "ostler",
    {
        "CliExecutor": "ostler.calls.cli_executor",
        "Code": "ostler.errors",
        "DiffStat": "ostler.model.outcome",
        "ModelSelector": "ostler.calls.models.selector",
        "Ostler": "ostler.project.ostler",
        "OstlerError": "ostler.errors",
        "Outcome": "ostler.model.outcome",
        "ReviewComment": "ostler.project.reviews.new_comment",
        "Task": "ostler.model.task",
        "WorkerPoolManager": "ostler.calls.models.slots",
        "create_spawner": "ostler.process.spawner",
    },
)
