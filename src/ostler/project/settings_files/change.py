"""Set and remove single settings in a file, validated before anything is written."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from ostler.clock import SystemClock
from ostler.config.checks.expect import describe_actual
from ostler.config.checks.shape import Leaf, Map, Rows, Table, shape_of
from ostler.config.keys import find_kind, parse_key, parse_value
from ostler.config.load import Loaded, SettingsFile, list_files, load_settings
from ostler.config.show import UNSET, rows
from ostler.config.source import DEFAULT, KeyPath, Source, format_key
from ostler.config.toml.edit import CannotEdit, get_value, remove_value, set_value
from ostler.errors import PreflightFailed, Problem, SettingsInvalid, UsageError
from ostler.files.atomic import write_atomic
from ostler.files.file_lock import hold_lock
from ostler.project.inspection.inspect_project import inspect_settings
from ostler.project.running.current_attempt import find_current_attempt, require_person
from ostler.text import describe_os_error

TABLE = "a table"
_EDIT = "ostler config edit   opens the file in your editor"


class Place(Struct, frozen=True):
    """The file to change and where its project is."""

    file: SettingsFile
    root: Path
    environ: Mapping[str, str]


class SettingChange(Struct, frozen=True):
    """One changed setting, as effective before and after; the values are TOML literals."""

    key: str
    old: str
    new: str
    source: str  # ostler.toml:5, or what takes precedence over the file
    is_overridden: bool = False


def find_place(root: Path, environ: Mapping[str, str], *, user: bool) -> Place:
    """Return the project's file or the user's; raise UsageError inside a task or without a home directory."""
    require_person(find_current_attempt(environ, root), "change settings")
    found = {file.layer: file for file in list_files(root, environ)}
    layer = "user file" if user else "project file"
    if layer not in found:
        raise UsageError("there is no home directory for the user's settings", "set HOME or XDG_CONFIG_HOME")
    return Place(found[layer], root, environ)


def set_setting(place: Place, key: str, text: str) -> SettingChange:
    """Write one setting and return what changed; raise UsageError or PreflightFailed and write nothing."""
    path = parse_key(key)
    value = parse_value(path, text)

    def assign(before: str) -> str:
        if row := next((path[: at + 1] for at, part in enumerate(path) if isinstance(part, int)), None):
            _require_value(place, before, row)
        return set_value(before, path, value)

    return _apply(place, path, assign)


def reset_setting(place: Place, key: str) -> SettingChange:
    """Remove a setting or a table from the file; raise UsageError when the file does not set it."""
    path = parse_key(key)
    with_headers = _removes_headers(place, path)

    def remove(before: str) -> str:
        _require_value(place, before, path)
        return remove_value(before, path, with_headers=with_headers)

    return _apply(place, path, remove)


def _removes_headers(place: Place, path: KeyPath) -> bool:
    """Return whether the header of an emptied table goes too; raise UsageError for an unknown key."""
    try:
        parent, kind = shape_of(find_kind(path[:-1])), shape_of(find_kind(path))
    except UsageError:
        # A key that is no setting is a mistake, which this command corrects where the file has it.
        if _read_value(place.file.path, path, {place.file.path: read_content(place)}) == UNSET:
            raise
        return True
    return isinstance(parent, (Map, Rows)) or not isinstance(kind, Table | Leaf)


def _require_value(place: Place, text: str, path: KeyPath) -> None:
    try:
        get_value(tomllib.loads(text), path)
    except KeyError:
        hint = "ostler config show   lists all settings with their source"
        raise UsageError(f"{place.file.name} does not contain {format_key(path)}", hint) from None


def _apply(place: Place, path: KeyPath, edit: Callable[[str], str]) -> SettingChange:
    place.file.path.parent.mkdir(parents=True, exist_ok=True)

    async def change() -> SettingChange:
        async with hold_lock(place.file.path, SystemClock()):
            return _change(place, path, edit)

    return asyncio.run(change())


def _change(place: Place, path: KeyPath, edit: Callable[[str], str]) -> SettingChange:
    before = read_content(place)
    try:
        after = edit(before.decode("utf-8-sig")).encode()
    except CannotEdit as error:
        message = f"{format_key(path)} cannot be changed in {place.file.name} by this command: {error}"
        raise UsageError(message, _EDIT) from error
    drafts = {place.file.path: after}
    refuse_new_errors(place, drafts)
    change = _compare(place, path, drafts)
    write_settings(place.file.path, after)
    return change


def read_content(place: Place) -> bytes:
    """Return the content of the file, empty if there is none; raise SettingsInvalid if it is not TOML."""
    path, name = place.file.path, place.file.name
    try:
        data = path.read_bytes()
        tomllib.loads(data.decode("utf-8-sig"))
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {describe_os_error(error)}") from error
    except (ValueError, RecursionError):
        raise SettingsInvalid([one for one in _inspect(place, {}) if one.file == name]) from None
    return data


def refuse_new_errors(place: Place, drafts: Mapping[Path, bytes]) -> None:
    """Raise PreflightFailed for errors that the files do not have yet; others can be corrected one by one."""
    found = [one for one in _inspect(place, drafts) if one.severity == "error"]
    known = {(one.key, one.message) for one in _inspect(place, {})} if found else set[tuple[str, str]]()
    if new := [one for one in found if (one.key, one.message) not in known]:
        raise PreflightFailed(new, f"{place.file.name} is unchanged")


def write_settings(path: Path, data: bytes) -> None:
    """Replace the file a link leads to, with the mode that it has."""
    target = path.resolve()
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    write_atomic(target, data, mode=mode)


def _inspect(place: Place, drafts: Mapping[Path, bytes]) -> list[Problem]:
    return inspect_settings(place.root, place.environ, drafts)


def _compare(place: Place, path: KeyPath, drafts: Mapping[Path, bytes]) -> SettingChange:
    key, before, after = format_key(path), _load(place, {}), _load(place, drafts)
    source = after.locations.get(key, DEFAULT) if after else Source(place.file.layer, place.file.name)
    layers = ("environment", "project file") if place.file.layer == "user file" else ("environment",)
    is_overridden = source.layer in layers
    old = _format_value(before, key) if before else _read_value(place.file.path, path, {})
    new = _format_value(after, key) if after else _read_value(place.file.path, path, drafts)
    return SettingChange(key, old, new, source.location, is_overridden)


def _read_value(file: Path, path: KeyPath, drafts: Mapping[Path, bytes]) -> str:
    """Return the value in the file alone, for settings that are invalid as a whole."""
    try:
        data = drafts[file] if file in drafts else file.read_bytes()
        return describe_actual(get_value(tomllib.loads(data.decode("utf-8-sig")), path))
    except (OSError, KeyError):
        return UNSET


def _format_value(loaded: Loaded, key: str) -> str:
    values = {row.key: row.value for row in rows(loaded)}
    is_table = any(one.startswith((f"{key}.", f"{key}[")) for one in values)
    return values.get(key, TABLE if is_table else UNSET)


def _load(place: Place, drafts: Mapping[Path, bytes]) -> Loaded | None:
    try:
        return load_settings(place.root, place.environ, drafts=drafts)
    except SettingsInvalid:
        return None
