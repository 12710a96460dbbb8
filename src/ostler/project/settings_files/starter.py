"""Create a settings file, and replace one by a new one with a backup."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

from ostler.config.template import starter_config
from ostler.errors import UsageError
from ostler.executors.discover import CLAUDE
from ostler.executors.survey import locate_programs, path_variable
from ostler.files.atomic import write_atomic
from ostler.project.inspection.detect_checks import detect_test_command
from ostler.project.settings_files.change import Place, write_settings


def create_settings_file(place: Place) -> str:
    """Create the file and return its executor; raise UsageError if it exists already."""
    path = place.file.path
    if os.path.lexists(path):
        raise UsageError(f"{place.file.name} exists already", "ostler config edit   changes it")
    executor = find_executor(place.environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, make_starter(place, executor).encode(), mode=0o644)
    return executor


def replace_settings_file(place: Place) -> Path:
    """Write all defaults, and return the path of the backup; raise UsageError if there is no file."""
    path = place.file.path
    if not path.is_file():
        raise UsageError(f"{place.file.name} does not exist: all its settings are the defaults")
    backup = next(one for one in _name_backups(path) if not os.path.lexists(one))
    write_atomic(backup, path.read_bytes(), mode=path.stat().st_mode & 0o777)
    write_settings(path, starter_config(CLAUDE.name).encode())
    return backup


def make_starter(place: Place, executor: str) -> str:
    """Return the new file: with the test command of the project, unless it is the user's file."""
    if place.file.layer == "user file":
        return starter_config(executor, owner="all your projects")
    tests = detect_test_command(place.root)
    return starter_config(executor, tests.command, tests.link) if tests else starter_config(executor)


def find_executor(environ: Mapping[str, str]) -> str:
    """Return the agent that is installed, first one that OSTLER_<NAME>_PATH names; claude if none is."""
    found = [one.program.name for one in locate_programs(environ) if one.path]
    named = [name for name in found if environ.get(path_variable(name))]
    return next(iter([*named, *found]), CLAUDE.name)


def _name_backups(path: Path) -> Iterator[Path]:
    yield path.with_name(f"{path.name}.bak")
    yield from (path.with_name(f"{path.name}.bak{number}") for number in count(2))
