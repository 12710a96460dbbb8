"""What is inspected: the directory of a project, its settings, the environment and the executors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.load import Loaded
from ostler.config.settings import Settings
from ostler.config.source import DEFAULT
from ostler.errors import OstlerError, Problem, read_problem
from ostler.executors.registry import ExecutorRegistry

Severity = Literal["error", "warning"]


class Setup(Struct, frozen=True):
    root: Path
    loaded: Loaded
    environ: Mapping[str, str]
    registry: ExecutorRegistry

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    def problem(self, key: str, message: str, severity: Severity = "error") -> Problem:
        """Return a problem of a setting, with the file and the line that set it."""
        locations = self.loaded.locations
        source = locations.get(key) or locations.get(key.rpartition("[")[0], DEFAULT)  # a list has one line
        return Problem(source.name or source.layer, source.line, key, message, severity)


def to_problems(error: OstlerError, severity: Severity = "error") -> list[Problem]:
    """Return the problems of an error: its own, or one for each line of its message."""
    found = error.problems or [read_problem(line) for line in error.message.splitlines()]
    return [replace(one, severity=severity) for one in found]
