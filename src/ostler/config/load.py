"""The settings in force: every layer read, checked and laid over the one before.

Flag > environment > ostler.toml > the user's config.toml > default.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, ValidationError, convert

from ostler.config.environment import read_environment
from ostler.config.file import read_file
from ostler.config.find import PROJECT_FILE
from ostler.config.flags import read_flags
from ostler.config.leaves import leaves
from ostler.config.reading import Reading, merge
from ostler.config.settings import Settings
from ostler.config.source import DEFAULT, Source, dotted
from ostler.config.walk import missing
from ostler.errors import SettingsInvalid

_Tree = TypeVar("_Tree")


class Loaded(Struct, frozen=True):
    """The settings, and where each of them came from."""

    settings: Settings
    sources: dict[str, Source]  # by dotted key, one for every value


def load_settings(
    project_root: Path | None, environ: Mapping[str, str], flags: Mapping[str, object] = {}
) -> Loaded:
    """Read all layers; raises SettingsInvalid with every mistake in any of them."""
    reading = gather(Settings, project_root, environ, flags)
    settings = build(Settings, reading)
    keys = (dotted(path) for path, _ in leaves(settings))
    return Loaded(settings, {key: reading.sources.get(key, DEFAULT) for key in keys})


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Where the user's own settings are, there or not; None without a home."""
    base, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    if base.startswith("/"):  # the XDG specification says to ignore a relative one
        return Path(base) / "ostler" / "config.toml"
    return Path(home) / ".config" / "ostler" / "config.toml" if home else None


def gather(
    kind: type, project_root: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]
) -> Reading:
    """All layers as one, with their mistakes, by the types of any tree of settings."""
    found = Reading()
    if (path := user_file(environ)) is not None:
        found = merge(found, read_file(kind, path, _short(path, environ), "user file"))
    if project_root is not None:
        found = merge(found, read_file(kind, project_root / PROJECT_FILE, PROJECT_FILE, "project file"))
    found = merge(found, read_environment(kind, environ, found.values))
    return merge(found, read_flags(kind, flags))


def build(kind: type[_Tree], reading: Reading) -> _Tree:
    """The frozen tree, or SettingsInvalid."""
    mistakes = (*reading.mistakes, *missing(kind, reading.values, reading.sources))
    if mistakes:
        raise SettingsInvalid([mistake.line for mistake in mistakes])
    try:
        return convert(reading.values, kind)
    except ValidationError as error:  # two settings that are right alone and wrong together
        raise SettingsInvalid([f"settings: {error}"]) from error


def _short(path: Path, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "").rstrip("/")
    text = str(path)
    return "~" + text.removeprefix(home) if home and text.startswith(f"{home}/") else text
