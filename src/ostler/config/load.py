"""Load the settings: read, validate and merge all layers.

Flag > environment > ostler.toml > the user's config.toml > default.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from ostler.config.checks.validate import find_missing
from ostler.config.environment import read_environment, read_flags
from ostler.config.find import PROJECT_FILE, user_file
from ostler.config.layer import ConfigError, LayerValues, merge_layers
from ostler.config.phase_names import find_unknown_phases
from ostler.config.settings import Settings
from ostler.config.source import DEFAULT, Layer, Source, format_key, list_values
from ostler.errors import Problem, SettingsInvalid

_Tree = TypeVar("_Tree")


class Loaded(Struct, frozen=True):
    """The settings and the source of each value."""

    settings: Settings
    sources: dict[str, Source]  # by dotted key, one for every value
    locations: dict[str, Source] = {}  # the same, and one for every table


def load_settings(
    project_root: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, object] = {},
    drafts: Mapping[Path, bytes] = {},
) -> Loaded:
    """Read all layers; raise SettingsInvalid with every error in them.

    A draft is the content that is validated instead of that of its file.
    """
    reading = gather(Settings, project_root, environ, flags, drafts)
    more = (*find_unknown_phases(reading, project_root), *_find_invalid_entries(reading))
    return _load(build(Settings, reading, more), reading, project_root)


def load_valid_part(
    project_root: Path, environ: Mapping[str, str], drafts: Mapping[Path, bytes] = {}
) -> Loaded | None:
    """Return invalid settings without the refused values, to check the rest; None if that is not possible."""
    reading = gather(Settings, project_root, environ, {}, drafts)
    try:
        return _load(convert(_drop_refused(reading.values), Settings), reading, project_root)
    except ValidationError:  # such as a model without an executor
        return None


def _drop_refused(value: Any) -> Any:
    if isinstance(value, list):
        return [_drop_refused(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Any]", value).items()
    return {key: _drop_refused(item) for key, item in items if item is not None}


def _load(settings: Settings, reading: LayerValues, project_root: Path | None) -> Loaded:
    keys = (format_key(path) for path, _ in list_values(settings))
    values = {key: reading.sources.get(key, DEFAULT) for key in keys}
    return Loaded(_locate_commands(settings, project_root), values, reading.sources | values)


def _locate_commands(settings: Settings, root: Path | None) -> Settings:
    """Return the settings with relative paths of agents below the project, wherever Ostler is started."""
    if root is None or not any(_is_relative(one.command) for one in settings.executors.values()):
        return settings
    located = {
        name: replace(one, command=str(root / one.command)) if _is_relative(one.command) else one
        for name, one in settings.executors.items()
    }
    return replace(settings, executors=located)


def _is_relative(command: str) -> bool:
    """Return whether a command is a relative path; a name is searched on PATH."""
    return "/" in command and not command.startswith(("/", "~/"))


class SettingsFile(Struct, frozen=True):
    """A file of settings, whether it exists or not."""

    path: Path
    name: str  # in messages
    layer: Layer


def list_files(project_root: Path | None, environ: Mapping[str, str]) -> list[SettingsFile]:
    """Return the settings files; the later one takes precedence."""
    path = user_file(environ)
    found = [SettingsFile(path, _short(path, environ), "user file")] if path else []
    if project_root is not None:
        found.append(SettingsFile(project_root / PROJECT_FILE, PROJECT_FILE, "project file"))
    return found


def gather(
    kind: type,
    project_root: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    drafts: Mapping[Path, bytes] = {},
) -> LayerValues:
    """Merge all layers, with their errors, validated against a type."""
    found = LayerValues()
    for file in list_files(project_root, environ):
        found = merge_layers(found, _read_file(kind, file, drafts.get(file.path)))
    found = merge_layers(found, read_environment(kind, environ, found.values))
    return merge_layers(found, read_flags(kind, flags))


def _read_file(kind: type, file: SettingsFile, draft: bytes | None) -> LayerValues:
    # Most commands run without a settings file and need no TOML parser.
    if draft is None and not os.path.lexists(file.path):
        return LayerValues()
    from ostler.config.toml_file import read_file, read_text  # noqa: PLC0415

    if draft is not None:
        return read_text(kind, draft, Source(file.layer, file.name))
    return read_file(kind, file.path, file.name, file.layer)


def _find_invalid_entries(reading: LayerValues) -> Iterable[ConfigError]:
    # Most projects have no such entries, and a list of tasks does not need the parsers.
    if {"engine", "store", "blobs"} & reading.values.keys():
        from ostler.config.checks.cluster_rules import find_cluster_mistakes  # noqa: PLC0415

        yield from find_cluster_mistakes(reading)
    sandbox: dict[str, Any] = reading.values.get("sandbox") or {}
    if hosts := sandbox.get("allow_hosts"):
        from ostler.config.checks.allow_hosts import find_invalid_hosts  # noqa: PLC0415

        yield from find_invalid_hosts(reading, hosts)
    if files := sandbox.get("home"):
        from ostler.config.home_files import find_invalid_home_files  # noqa: PLC0415

        yield from find_invalid_home_files(reading, files)


def build(kind: type[_Tree], reading: LayerValues, more: Iterable[ConfigError] = ()) -> _Tree:
    """Return the frozen settings; raise SettingsInvalid on any error."""
    mistakes = (*reading.errors, *find_missing(kind, reading.values, reading.sources), *more)
    if mistakes:
        raise SettingsInvalid([mistake.problem for mistake in sorted(mistakes, key=_order)])
    try:
        return convert(reading.values, kind)
    except ValidationError as error:  # two settings that are valid alone but not together
        raise SettingsInvalid([Problem("settings", 0, "", str(error))]) from error


def _order(mistake: ConfigError) -> tuple[int, int]:
    """Sort by layer and line; the errors of one line keep their order."""
    return get_args(Layer).index(mistake.source.layer), mistake.source.line


def _short(path: Path, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "").rstrip("/")
    text = str(path)
    return "~" + text.removeprefix(home) if home and text.startswith(f"{home}/") else text
