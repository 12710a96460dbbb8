"""Changes of settings from the browser: editable ones only, several at once, of the files that it read."""

from __future__ import annotations

import asyncio
import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from ostler.clock import SystemClock
from ostler.config.keys import convert_value, parse_key
from ostler.config.load import Loaded, list_files
from ostler.config.source import KeyPath, format_key
from ostler.config.toml.edit import CannotEdit, get_value, remove_value, set_value
from ostler.config.toml.reorder import reorder_rows
from ostler.errors import Code, OstlerError, PreflightFailed, Problem, UsageError
from ostler.files.file_lock import hold_lock
from ostler.project.settings_files.change import (
    Place,
    find_place,
    read_content,
    refuse_new_errors,
    write_settings,
)
from ostler.project.settings_files.editable import is_editable

FileChoice = Literal["project", "user"]
_LISTS = ("models", "notify")  # a layer replaces the whole list: their values are changed where the list is


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """A new value of a setting; null removes it from the file: another layer or the default applies."""

    key: str
    value: Any | UnsetType = UNSET


class Changes(Struct, frozen=True):
    """A change that the browser requests."""

    version: str  # of the files that it read
    file: FileChoice
    edits: tuple[Edit, ...]
    models: tuple[str, ...] = ()  # the names of all [[models]] in their new order; empty: as they are


def read_version(root: Path, environ: Mapping[str, str]) -> str:
    """Return what differs when the content of a settings file differs."""
    digest = hashlib.sha256()
    for file in list_files(root, environ):
        try:
            digest.update(file.path.read_bytes())
        except OSError:
            digest.update(b"\xff")  # no text of a settings file
        digest.update(b"\xfe")
    return digest.hexdigest()[:32]


def change_settings(root: Path, environ: Mapping[str, str], loaded: Loaded, changes: Changes) -> None:
    """Write all changes, or none of them.

    Raise UsageError for a setting that only a terminal changes, PreflightFailed for invalid values, and
    CONFLICT if a file has changed since the browser read it.
    """
    _refuse_uneditable(changes.edits)
    places = {name: find_place(root, environ, user=name == "user") for name in ("project", "user")}
    used = {_choose_file(parse_key(edit.key), changes.file, loaded) for edit in changes.edits}
    if changes.models:
        used.add(_choose_file(("models",), changes.file, loaded))

    async def write() -> None:
        async with AsyncExitStack() as locks:
            for name in sorted(used):
                places[name].file.path.parent.mkdir(parents=True, exist_ok=True)
                await locks.enter_async_context(hold_lock(places[name].file.path, SystemClock()))
            _write(root, environ, loaded, changes, {name: places[name] for name in used})

    asyncio.run(write())


def _write(
    root: Path, environ: Mapping[str, str], loaded: Loaded, changes: Changes, places: Mapping[str, Place]
) -> None:
    if read_version(root, environ) != changes.version:
        raise OstlerError(
            Code.CONFLICT, "the settings files changed after the page read them", "reload, and save again"
        )
    texts = {name: read_content(place).decode("utf-8-sig") for name, place in places.items()}
    drafts, problems = dict(texts), list[Problem]()
    for edit in changes.edits:
        name = _choose_file(parse_key(edit.key), changes.file, loaded)
        try:
            drafts[name] = _apply(drafts[name], edit, places[name])
        except UsageError as error:
            problems.append(Problem("", 0, edit.key, error.message.removeprefix(f"{edit.key}: ")))
    if problems:
        raise PreflightFailed(problems, "nothing was saved")
    if changes.models:
        name = _choose_file(("models",), changes.file, loaded)
        drafts[name] = _reorder(drafts[name], changes.models, places[name])
    written = {places[name].file.path: text.encode() for name, text in drafts.items() if text != texts[name]}
    for place in places.values():
        refuse_new_errors(place, written)
    for path, data in written.items():
        write_settings(path, data)


def _refuse_uneditable(edits: Iterable[Edit]) -> None:
    """Raise UsageError for the first setting that is not in the table, or not complete."""
    for edit in edits:
        path = parse_key(edit.key)
        if not is_editable(path):
            raise UsageError(
                f"{format_key(path)} cannot be changed in the browser",
                f"ostler config set {format_key(path)} VALUE",
            )
        if edit.value is UNSET:
            raise UsageError(f"{edit.key}: value is missing", "null removes the setting from the file")


def _choose_file(path: KeyPath, choice: FileChoice, loaded: Loaded) -> FileChoice:
    source = loaded.locations.get(str(path[0]))
    if path[0] in _LISTS and source is not None and source.layer in ("project file", "user file"):
        return "user" if source.layer == "user file" else "project"
    return choice


def _apply(text: str, edit: Edit, place: Place) -> str:
    path = parse_key(edit.key)
    try:
        if edit.value is None:
            return _remove(text, path)
        return set_value(text, path, convert_value(path, edit.value))
    except CannotEdit as error:
        raise _cannot_edit(place, error) from error


def _remove(text: str, path: KeyPath) -> str:
    try:
        get_value(tomllib.loads(text), path)
    except KeyError:
        return text  # nothing to remove
    return remove_value(text, path)


def _reorder(text: str, names: Sequence[str], place: Place) -> str:
    rows = tomllib.loads(text).get("models", [])
    known = [str(row.get("name", "")) for row in rows]
    if sorted(known) != sorted(names):
        raise UsageError(f"the models of {place.file.name} are {', '.join(known)}", "name each of them once")
    try:
        return reorder_rows(text, "models", [known.index(name) for name in names])
    except CannotEdit as error:
        raise _cannot_edit(place, error) from error


def _cannot_edit(place: Place, error: CannotEdit) -> UsageError:
    return UsageError(f"cannot be changed in {place.file.name} here: {error}", "ostler config edit")
